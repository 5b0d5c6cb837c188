"""While models are still asked, what code says of their outputs is told; it is what the report says in the end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from promptpex import tables
from promptpex.config import load
from promptpex.core.events import Event, OutcomeKnown
from promptpex.core.records import Check
from promptpex.llm.fake import FakeClient
from promptpex.report.runs import RunRecords
from promptpex.workflow.execution.outcomes_by_code import early_outcomes
from promptpex.workflow.execution.outcomes_so_far import outcomes_so_far
from promptpex.workflow.execution.run_records import begin, execute
from promptpex.workflow.session import open_session
from tests.numbers.world import Fate, World, cases, material

FATES: tuple[Fate, ...] = ("kept", "broken", "kept", "broken", "cut")


async def ends_of(folder: Path, judge: str, count: int) -> tuple[list[str], list[str]]:
    """The first ``count`` outcomes that are told of a run's outputs before they are all in; those of its report."""
    heard: asyncio.Queue[Event] = asyncio.Queue()
    prompt, spec, suite = material(cases(len(FATES), 2), 2, judge=judge != "none")
    client = FakeClient(World(suite, lambda model, case, repeat: FATES[case]))
    given: dict[str, Any] = {"models": ["fake/a"], "judge": [judge], "store": str(folder / "s.db"), "max_attempts": 1}
    async with open_session(load(given, start=folder, env={}), provider=client, emit=heard.put_nowait) as session:
        run = await execute(session, await begin(session, prompt, spec, suite))
        while not heard.empty():
            heard.get_nowait()
        outcomes: list[str] = []
        records, known = RunRecords.of(run), outcomes_so_far(session, run)
        early = early_outcomes(session, run, records.outputs, known, begins_s=0)
        async with early as add, asyncio.timeout(300):
            for place, output in enumerate(run.outputs):
                add(place, output)
            while len(outcomes) < count:
                event = await heard.get()
                outcomes += [event.outcome] if isinstance(event, OutcomeKnown) else []
    return outcomes, list(tables.outputs(run)["verdict"])


async def test_without_a_judge_all_is_known_early(tmp_path: Path) -> None:
    early, reported = await ends_of(tmp_path, "none", len(FATES))
    assert early == ["unscored", "pass", "fail", "pass", "fail"]
    assert sorted(early) == sorted(reported)


async def test_where_a_judge_is_going_to_be_asked_only_failures_are_known_early(tmp_path: Path) -> None:
    early, _ = await ends_of(tmp_path, "fake/judge", 3)
    assert early == ["unscored", "fail", "fail"]


async def test_a_check_that_cannot_be_used_ends_it_quietly(tmp_path: Path) -> None:
    prompt, spec, suite = material(cases(2, 2), 2, judge=False)
    heard: list[Event] = []
    settings = load({"models": ["fake/a"], "judge": ["none"], "store": str(tmp_path / "s.db")}, start=tmp_path, env={})
    client = FakeClient(World(suite, lambda *_: "kept"))
    async with open_session(settings, provider=client, emit=heard.append) as session:
        run = await execute(session, await begin(session, prompt, spec, suite))
        unusable = spec.rules[0].replace(checks=(Check(kind="regex", value="("),))
        run = run.replace(spec=spec.replace(rules=(unusable,)))
        heard.clear()
        records, known = RunRecords.of(run), outcomes_so_far(session, run)
        async with early_outcomes(session, run, records.outputs, known, begins_s=0) as add:
            add(0, run.outputs[0])
            await asyncio.sleep(0.1)
    assert heard == []
