from __future__ import annotations

import itertools
from typing import Any

import pytest

from promptpex.cases.generate import generate, mark_invalid, replace_invalid, with_invalid, within_tries
from promptpex.cases.plan import Generation, plan
from promptpex.cases.validity import ValidityCheck
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Request, Suite
from tests.samples import broken, prompt, role_model, spec, written_cases

OPTIONS = Generation(per_rule=2, per_inverse=1)


def case(name: str = "c1", thing: str = "a rose", **fields: Any) -> Case:
    return Case(id=name, rule="r1", inputs={"thing": thing, "place": "here"}, **fields)


def author(invalid: int) -> Any:
    """An author and judge in one, whose first ``invalid`` things break the input spec."""
    count = itertools.count(1)

    def reply(request: Request) -> Any:
        if request.stage == "validity":
            return broken(request, lambda shown: "rotten" in shown)

        def thing(aim: str, number: int) -> dict[str, str]:
            n = next(count)
            return {"thing": f"{'rotten' if n <= invalid else 'good'} {n}", "place": "here"}

        return written_cases(request, thing)

    return role_model(reply)


async def made(voice: Any) -> Suite:
    empty = Suite(prompt="prompt.md")
    todo = plan(prompt(), spec(), empty, options=OPTIONS)
    return await generate(voice, prompt(), spec(), todo, suite_for="prompt.md", options=OPTIONS)


async def test_invalid_cases_are_excluded_and_replaced() -> None:
    voice, client = author(2)
    suite = (await made(voice)).replace(match="json")
    events: list[Event] = []
    refined = await replace_invalid(
        voice, suite, ValidityCheck(prompt(), spec(), voice, emit=events.append), options=OPTIONS, rounds=2
    )
    excluded = [one for one in refined.suite.cases if one.invalid is not None]
    assert [one.inputs["thing"] for one in excluded] == ["rotten 1", "rotten 2"]
    assert excluded[0].invalid == "(thing) The thing is an object. Look."
    assert (len(refined.suite.usable()), refined.suite.match) == (6, "json")
    assert refined.plan.missing == 0
    assert {one.status for one in refined.findings.values()} == {"valid", "invalid"}
    assert any(isinstance(event, Notice) and "2 of 6 cases excluded" in event.message for event in events)
    judged = [request for request in client.requests if request.stage == "validity"]
    assert len(judged) == 2


@pytest.mark.parametrize(("rounds", "requests"), [(0, 0), (1, 1), (2, 2)])
async def test_an_author_that_never_gets_it_right_is_not_asked_without_end(rounds: int, requests: int) -> None:
    voice, client = author(10_000)
    suite = await made(voice)
    before, how = len(client.requests), ValidityCheck(prompt(), spec(), voice)
    refined = await replace_invalid(voice, suite, how, options=OPTIONS, rounds=rounds)
    assert sum(request.stage == "cases" for request in client.requests[before:]) == requests
    assert refined.suite.usable() == ()
    again = await replace_invalid(voice, refined.suite, how, options=OPTIONS, rounds=rounds)
    assert again.plan.missing == 0
    assert again.suite == refined.suite


async def test_cases_of_people_stay_as_they_are() -> None:
    voice, _ = author(0)
    mine = Suite(prompt="prompt.md", cases=(case("mine", "rotten one", origin="added"),))
    events: list[Event] = []
    refined = await replace_invalid(
        voice, mine, ValidityCheck(prompt(), spec(), voice, emit=events.append), options=Generation(0, 0), rounds=1
    )
    assert refined.suite == mine
    assert any(isinstance(event, Notice) and "your case mine stays" in event.message for event in events)


async def test_only_the_named_cases_are_checked() -> None:
    voice, client = author(0)
    both = Suite(prompt="p", cases=(case("c1", "rotten one"), case("c2", "rotten two")))
    suite, checked = await mark_invalid(both, ValidityCheck(prompt(), spec(), voice), only=["c2"])
    assert [one.id for one in suite.usable()] == ["c1"]
    assert [one.case for one in checked] == ["c2"]
    assert len(client.requests) == 1


def test_marking_keeps_what_is_marked() -> None:
    suite = Suite(prompt="p", cases=(case(invalid="before"), case("c2")))
    assert with_invalid(suite, {}) == suite


def test_the_limit_is_over_all_runs() -> None:
    todo = plan(prompt(), spec(), Suite(prompt="p"), options=Generation(1, 0))
    target = todo.make[0][0]
    spent = tuple(case(f"x{n}", f"t{n}", inputs_fingerprint=target.inputs_fingerprint, invalid="bad") for n in range(2))
    again = plan(prompt(), spec(), Suite(prompt="p", cases=spent), options=Generation(1, 0))
    assert [one.rule.id for one, _ in again.make] == ["r1", "r2"]
    assert [one.rule.id for one, _ in within_tries(again, tries=1).make] == ["r2"]
    assert [one.rule.id for one, _ in within_tries(again, tries=2).make] == ["r1", "r2"]
