"""Verdicts are put away output by output, and are the same in whatever parts outputs are read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import promptpex
from promptpex import tables
from promptpex.config import load
from promptpex.core.events import Event, OutcomeKnown
from promptpex.core.records import Case, Request, Run
from promptpex.llm.fake import FakeClient
from promptpex.report.runs import RunRecords
from promptpex.workflow.execution import run_records
from promptpex.workflow.execution.order import fair_order, questions_before
from promptpex.workflow.execution.verdicts_on_outputs import OutputVerdicts
from promptpex.workflow.session import open_session
from tests.numbers.world import Fate, World, cases, material
from tests.samples import prompt, spec, suite

FATES: tuple[Fate, ...] = ("kept", "broken", "judged broken", "cut", "kept", "unjudged broken", "kept")
JUDGES = ["fake/judge", "fake/judge?top_p=0.5"]


@pytest.mark.parametrize("settings", [{"judge": ["none"]}, {}, {"judge": JUDGES, "judge_repeat": 2}], ids=str)
async def test_the_parts_in_which_outputs_are_read_change_nothing(tmp_path: Path, settings: dict[str, Any]) -> None:
    prompt, spec, suite = material(cases(14, 2), 2, judge=True)
    given = {"models": ["fake/a", "fake/b"], "judge": JUDGES[:1], "store": str(tmp_path / "s.db"), "max_attempts": 1}
    client = FakeClient(World(suite, lambda model, case, repeat: FATES[(case + (model == "b")) % len(FATES)]))
    async with open_session(load({**given, **settings}, start=tmp_path, env={}), provider=client) as session:
        run = await run_records.execute(session, await run_records.begin(session, prompt, spec, suite))
        for part in (1, 5):
            with RunRecords.of(run.replace(verdicts=())) as records:
                await OutputVerdicts(session, run, records, part=part).make(range(len(run.outputs)))
                assert tuple(records.verdicts) == run.verdicts
    keys = [verdict.key for verdict in run.verdicts]
    assert list(dict.fromkeys(keys)) == [output.key for output in run.outputs]
    assert keys == sorted(keys, key=[output.key for output in run.outputs].index)


class Held:
    """A client of which one judge's answer is held back, and the first request after it is told."""

    def __init__(self, world: World, last: str) -> None:
        self.world, self.last = world, last
        self.go = asyncio.Event()

    async def __call__(self, request: Request) -> Any:
        if request.stage == "judge" and self.last in request.messages[-1].content:
            await self.go.wait()
        return self.world(request)


async def test_verdicts_on_an_output_are_put_away_while_others_are_still_judged(tmp_path: Path) -> None:
    prompt, spec, suite = material(cases(4, 2), 2, judge=True)
    held = Held(World(suite, lambda model, case, repeat: "kept"), "fake/a c2 0")
    given = {"models": ["fake/a"], "judge": JUDGES[:1], "store": str(tmp_path / "s.db")}
    heard: asyncio.Queue[Event] = asyncio.Queue()
    settings = load(given, start=tmp_path, env={})
    async with open_session(settings, provider=FakeClient(held), emit=heard.put_nowait) as session:
        begun = await run_records.begin(session, prompt, spec, suite)
        with RunRecords() as records:
            filling = asyncio.create_task(run_records.fill(session, begun, records, run_records.keeping(records)))
            known = 0
            async with asyncio.timeout(300):
                while known < 3:
                    known += isinstance(await heard.get(), OutcomeKnown)
            assert list(records.verdicts.places()) == [0, 1, 3]
            held.go.set()
            await filling
            assert [verdict.case for verdict in records.verdicts] == [case.id for case in suite.cases for _ in range(3)]


COLOURS = tuple(Case(id=f"c{n}", inputs={"thing": f"thing {n}"}) for n in range(12))


def coloured(request: Request) -> str:
    """A colour, of every third thing in two words; a judge that passes every colour."""
    if request.stage == "judge":
        return json.dumps({"r2": {"reason": "fine", "verdict": "pass"}})
    number = int(request.messages[-1].content.rpartition(" ")[2])
    return f"light RED{number}" if number % 3 == 0 else f"RED{number}"


def colours(**settings: Any) -> Run:
    """A run of ``COLOURS``, whose judge has nothing to be asked of an output that breaks the rule before its own."""
    rules = (spec().rules[0], spec().rules[1].replace(after="r1"))
    made = prompt(variables=("thing",)), spec().replace(rules=rules), suite().replace(cases=COLOURS)
    return promptpex.run(*made, models=["fake/m"], judge=["fake/j"], client=FakeClient(coloured), **settings)


def test_failures_that_leave_a_judge_nothing_to_ask_count_as_others_do_where_judging_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = tables.outputs(colours(store="whole.db"))
    assert whole["verdict"].tolist().count("fail") == 4
    assert all(whole["asked"])
    for budget in range(20):
        rows = tables.outputs(colours(store=f"{budget}.db", max_requests=budget))
        order = [case.id for case in fair_order(COLOURS, 0)]
        asked = sorted(rows.loc[rows["asked"], "case"], key=order.index)
        assert rows["verdict"].tolist().count("pass") >= 8 * budget // 20 - 1, "verdicts have their share of it"
        assert len(asked) == len(rows[rows["verdict"].ne("unscored")])
        if "pass" in rows["verdict"].tolist():
            assert asked == order[: len(asked)], "the first of the order count, whatever they are"


def test_what_has_no_question_goes_with_the_question_before_it_to_the_same_judge() -> None:
    order = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 2, 0), (1, 2, 0)]
    assert questions_before(order, lambda asked: asked[:2] not in {(0, 0), (0, 2), (1, 2)}) == {
        (0, 0, 0): (0, 1, 0),
        (0, 2, 0): (0, 1, 0),
        (1, 2, 0): (1, 1, 0),
    }
    assert questions_before(order[::2], lambda asked: False) == dict.fromkeys(order[::2])
    assert questions_before(order, lambda asked: True) == {}
