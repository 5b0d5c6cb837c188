"""What is told of outputs while judges are asked is what the report says in the end."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from promptpex import tables
from promptpex.config import load
from promptpex.core.events import Event, OutcomeKnown
from promptpex.core.records import Request, Run
from promptpex.llm.fake import FakeClient
from promptpex.workflow.execution.early_stopping import execute
from promptpex.workflow.execution.order import fair_order
from promptpex.workflow.execution.run_records import begin
from promptpex.workflow.session import open_session
from tests.numbers.world import Fate, World, cases, material
from tests.samples import asked

FATES: tuple[Fate, ...] = ("kept", "broken", "judged broken", "open", "cut", "unjudged", "unjudged broken", "kept")


async def events_of(folder: Path, **settings: Any) -> tuple[Run, list[Event]]:
    """A run of 32 cases on two models, of every fate, and what was told of it."""
    heard = list[Event]()
    prompt, spec, suite = material(cases(32, 4), 4, judge=True)
    client = FakeClient(World(suite, lambda model, case, repeat: FATES[(case + (model == "b") * 3) % len(FATES)]))
    given = {"models": ["fake/a", "fake/b"], "judge": ["fake/judge"], "store": str(folder / "s.db"), "max_attempts": 1}
    async with open_session(
        load({**given, **settings}, start=folder, env={}), provider=client, emit=heard.append
    ) as on:
        return await execute(on, await begin(on, prompt, spec, suite)), heard


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"judge": ["none"]},
        {"judge": ["fake/judge", "fake/judge?top_p=0.5"]},
        {"judge": ["fake/judge", "fake/judge?top_p=0.5", "fake/judge?top_p=0.4"], "quorum": "unanimous"},
        {"judge_repeat": 2},
        {"judge_all": True},
        {"judge_mode": "prompt"},
        {"drop_worse": True},
    ],
    ids=str,
)
async def test_the_outcomes_that_are_told_are_those_of_the_report(tmp_path: Path, settings: dict[str, Any]) -> None:
    run, heard = await events_of(tmp_path, **settings)
    known = Counter[tuple[str, str]]()
    for event in (event for event in heard if isinstance(event, OutcomeKnown)):
        known[event.model, event.outcome] += 1
        if event.was is not None:
            known[event.model, event.was] -= 1
    rows = tables.outputs(run)
    assert +known == Counter(zip(rows["model"], rows["verdict"], strict=True))
    assert known.total() == len(run.outputs)


async def test_outputs_are_judged_while_others_are_still_asked_for(tmp_path: Path) -> None:
    """One answer waits until a judge has passed an output, and another until a check has failed one."""
    prompt, spec, suite = material(cases(32, 4), 4, judge=True)
    world, known = (
        World(suite, lambda model, case, repeat: FATES[case % 2]),
        {"pass": asyncio.Event(), "fail": asyncio.Event()},
    )
    last = {f"<{case.id}>": outcome for case, outcome in zip(fair_order(suite.cases, 0)[-2:], known, strict=True)}

    async def replies(request: Request) -> Any:
        for marker, outcome in last.items():
            if request.stage == "output" and marker in asked(request):
                await known[outcome].wait()
        return world(request)

    def hear(event: Event) -> None:
        if isinstance(event, OutcomeKnown):
            known[event.outcome].set()

    settings = load(
        {"models": ["fake/a"], "judge": ["fake/judge"], "store": str(tmp_path / "s.db")}, start=tmp_path, env={}
    )
    async with asyncio.timeout(300), open_session(settings, provider=FakeClient(replies), emit=hear) as on:
        run = await execute(on, await begin(on, prompt, spec, suite))
    assert tables.outputs(run)["verdict"].value_counts().to_dict() == {"pass": 16, "fail": 16}
