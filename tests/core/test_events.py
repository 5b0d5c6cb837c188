"""The events around a stage."""

from __future__ import annotations

from promptpex.core.events import Event, StageEnded, StageStarted, StepDone, stage_events


def test_a_stage_begins_and_ends_for_each_of_its_models() -> None:
    events: list[Event] = []
    with stage_events(events.append, "judge", {"a": 2, "b": 1}):
        events.append(StepDone("judge", "a"))
    assert events == [
        StageStarted("judge", 2, "a"),
        StageStarted("judge", 1, "b"),
        StepDone("judge", "a"),
        StageEnded("judge", "a"),
        StageEnded("judge", "b"),
    ]
