from __future__ import annotations

import itertools
from typing import Any

import pytest

from promptpex.cases.generate import generate
from promptpex.cases.plan import Generation, plan
from promptpex.cases.validity import code_problems, limited, mark_invalid, marked, replace_invalid, validity
from promptpex.core.errors import NotAuthorised, Unavailable
from promptpex.core.events import Event, Notice
from promptpex.core.records import WHOLE_INPUT, Case, InputCheck, Request, Spec, Suite, VariableSpec
from tests.samples import asked, prompt, role_model, spec

OPTIONS = Generation(per_rule=2, per_inverse=1)


def case(name: str = "c1", thing: str = "a rose", **fields: Any) -> Case:
    return Case(id=name, rule="r1", inputs={"thing": thing, "place": "here"}, **fields)


def says(verdict: str) -> Any:
    return lambda request: {"c1": {"reason": f"It {verdict}.", "verdict": verdict}}


async def one_of(one: Case, reply: Any, of: Spec | None = None) -> Any:
    judge, client = role_model(reply, "fake/judge")
    (found,) = await validity([one], prompt(), of or spec(), judge=judge)
    return found, client


@pytest.mark.parametrize(("verdict", "status"), [("keeps", "valid"), ("breaks", "invalid"), ("unclear", "unknown")])
async def test_sentences_are_read_by_a_judge(verdict: str, status: str) -> None:
    found, client = await one_of(case(), says(verdict))
    assert (found.case, found.status, found.source) == ("c1", status, "judge:fake/judge")
    assert len(client.requests) == 1
    assert "a rose" in asked(client.requests[0])
    assert "(thing) The thing is an object." in asked(client.requests[0])
    if verdict != "keeps":
        assert found.reasons == (f"(thing) The thing is an object. It {verdict}.",)


@pytest.mark.parametrize("reply", ["no JSON at all", {"c1": {"verdict": "keeps"}}, Unavailable("gone", model="m")])
async def test_a_judge_that_cannot_be_read_makes_nothing_invalid(reply: Any) -> None:
    found, _ = await one_of(case(), lambda request: reply)
    assert found.status == "unknown"
    assert found.reasons == ("the judge could not be read",)


async def test_a_judge_without_a_key_ends_the_stage() -> None:
    with pytest.raises(NotAuthorised):
        await one_of(case(), lambda request: NotAuthorised("no key", model="m"))


async def test_what_code_decides_is_not_asked_about() -> None:
    short = spec().replace(inputs={"thing": VariableSpec(constraints=("x",), max_length=3)})
    found, client = await one_of(case(), says("keeps"), short)
    assert (found.status, found.source) == ("invalid", "code")
    assert found.reasons == ("thing has 6 characters, more than 3",)
    assert client.requests == []
    found, client = await one_of(case(), says("keeps"), spec().replace(inputs={}))
    assert found.status == "valid"
    assert client.requests == []


async def test_without_a_judge_sentences_stay_open() -> None:
    (found,) = await validity([case()], prompt(), spec())
    assert found.status == "unknown"
    (found,) = await validity([case()], prompt(), spec().replace(inputs={}))
    assert found.status == "valid"


def test_code_holds_inputs_to_types_and_input_checks() -> None:
    check = InputCheck(kind="contains", value="{{place}}", variable="thing")
    of = spec().replace(input_checks=(check,), inputs={"place": VariableSpec(type="integer")})
    bad = case().replace(inputs={"thing": "a rose", "place": "here"})
    said = code_problems(bad, prompt(), of)
    assert len(said) == 2
    assert said[0] == 'place is "here", and not of type integer'
    assert said[1].startswith("the input thing breaks")
    assert code_problems(bad.replace(inputs={"thing": "3 roses", "place": 3}), prompt(), of) == []
    assert code_problems(bad.replace(inputs={"place": 3}), prompt(), of) == ["thing is missing"]


async def test_lint_errors_make_a_case_invalid() -> None:
    (found,) = await validity([case(thing="The output has several words.")], prompt(), spec())
    assert found.status == "invalid"
    assert found.reasons[0].startswith("echoes-rule: ")


async def test_what_holds_of_all_inputs_together_is_asked_too() -> None:
    of = spec().replace(inputs={WHOLE_INPUT: VariableSpec(constraints=("The thing can be in the place.",))})
    _, client = await one_of(case(), says("keeps"), of)
    assert "(all together) The thing can be in the place." in asked(client.requests[0])


def author(invalid: int) -> Any:
    """An author and judge in one, whose first ``invalid`` things break the input spec."""
    count = itertools.count(1)

    def reply(request: Request) -> Any:
        text = asked(request)
        if request.stage == "validity":
            return {
                "c1": {
                    "reason": "Look.",
                    "verdict": "breaks" if "rotten" in text.split("was handed in")[1] else "keeps",
                }
            }
        wanted = 2 if "Write 2 valid" in text else 1
        things = [f"{'rotten' if n <= invalid else 'good'} {n}" for n in itertools.islice(count, wanted)]
        return {"cases": [{"reasoning": "why", "inputs": {"thing": thing, "place": "here"}} for thing in things]}

    return role_model(reply)


async def made(voice: Any) -> Suite:
    empty = Suite(prompt="prompt.md")
    todo = plan(prompt(), spec(), empty, author=voice.label, options=OPTIONS)
    return await generate(voice, prompt(), spec(), todo, suite_for="prompt.md", options=OPTIONS)


async def test_invalid_cases_are_put_aside_and_made_again() -> None:
    voice, client = author(2)
    suite = await made(voice)
    heard: list[Event] = []
    refined = await replace_invalid(
        voice, prompt(), spec(), suite, options=OPTIONS, rounds=2, judge=voice, emit=heard.append
    )
    aside = [one for one in refined.suite.cases if one.invalid is not None]
    assert [one.inputs["thing"] for one in aside] == ["rotten 1", "rotten 2"]
    assert aside[0].invalid == "(thing) The thing is an object. Look."
    assert len(refined.suite.usable()) == 6
    assert refined.plan.missing == 0
    assert {one.status for one in refined.findings.values()} == {"valid", "invalid"}
    assert any(isinstance(event, Notice) and "2 of 6 cases are put aside" in event.message for event in heard)
    judged = [request for request in client.requests if request.stage == "validity"]
    assert len(judged) == 8


@pytest.mark.parametrize(("rounds", "requests"), [(0, 0), (1, 4), (2, 8)])
async def test_an_author_that_never_gets_it_right_is_not_asked_for_ever(rounds: int, requests: int) -> None:
    voice, client = author(10_000)
    suite = await made(voice)
    before = len(client.requests)
    refined = await replace_invalid(voice, prompt(), spec(), suite, options=OPTIONS, rounds=rounds, judge=voice)
    assert sum(request.stage == "cases" for request in client.requests[before:]) == requests
    assert refined.suite.usable() == ()
    again = await replace_invalid(voice, prompt(), spec(), refined.suite, options=OPTIONS, rounds=rounds, judge=voice)
    assert again.plan.missing == 0
    assert again.suite == refined.suite


async def test_cases_of_people_stay_as_they_are() -> None:
    voice, _ = author(0)
    mine = Suite(prompt="prompt.md", cases=(case("mine", "rotten one", origin="added"),))
    heard: list[Event] = []
    refined = await replace_invalid(
        voice, prompt(), spec(), mine, options=Generation(0, 0), rounds=1, judge=voice, emit=heard.append
    )
    assert refined.suite == mine
    assert any(isinstance(event, Notice) and "your case mine stays" in event.message for event in heard)


async def test_only_the_named_cases_are_looked_at() -> None:
    voice, client = author(0)
    both = Suite(prompt="p", cases=(case("c1", "rotten one"), case("c2", "rotten two")))
    suite, checked = await mark_invalid(both, prompt(), spec(), only=["c2"], judge=voice)
    assert [one.id for one in suite.usable()] == ["c1"]
    assert [one.case for one in checked] == ["c2"]
    assert len(client.requests) == 1


def test_marking_keeps_what_is_marked() -> None:
    suite = Suite(prompt="p", cases=(case(invalid="before"), case("c2")))
    assert marked(suite, {}) == suite


def test_the_limit_is_over_all_runs() -> None:
    todo = plan(prompt(), spec(), Suite(prompt="p"), author="a", options=Generation(1, 0))
    target = todo.make[0][0]
    spent = tuple(case(f"x{n}", f"t{n}", inputs_fingerprint=target.inputs_fingerprint, invalid="bad") for n in range(2))
    again = plan(prompt(), spec(), Suite(prompt="p", cases=spent), author="a", options=Generation(1, 0))
    assert [one.rule.id for one, _ in again.make] == ["r1", "r2"]
    assert [one.rule.id for one, _ in limited(again, tries=1).make] == ["r2"]
    assert [one.rule.id for one, _ in limited(again, tries=2).make] == ["r1", "r2"]
