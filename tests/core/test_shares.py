"""One reader of shares: what is written in settings, on the command line and in programs means the same."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.config import Settings
from promptpex.core.errors import InputError
from promptpex.core.events import Event, StageEnded, StageStarted, StepDone, stage_events
from promptpex.core.shares import share


@given(st.integers(0, 10_000))
def test_a_share_is_exactly_what_is_written(hundredths: int) -> None:
    percent = f"{hundredths // 100}.{hundredths % 100:02}"
    assert share(f" {percent}% ") == Fraction(hundredths, 10_000)
    assert share(f"{hundredths / 10_000:.4f}") == Fraction(hundredths, 10_000)
    assert Settings(fail_above=f"{percent}%").fail_above == hundredths / 10_000


@pytest.mark.parametrize("text", ["", "ten", "-1%", "101%", "1.1", "10 %%", "٣%", "1" * 30])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"is not a share: write 10% or 0\.1"):
        share(text)


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
