from __future__ import annotations

from typing import Any

import pytest

from promptpex.cases.validity import ValidityCheck, code_problems, validity
from promptpex.core.errors import NotAuthorised, Unavailable
from promptpex.core.records import WHOLE_INPUT, Case, InputCheck, Spec, VariableSpec
from tests.samples import asked, prompt, role_model, spec


def case(name: str = "c1", thing: str = "a rose", **fields: Any) -> Case:
    return Case(id=name, rule="r1", inputs={"thing": thing, "place": "here"}, **fields)


def says(verdict: str) -> Any:
    return lambda request: {"c1": {"reason": f"It {verdict}.", "verdict": verdict}}


async def one_of(one: Case, reply: Any, of: Spec | None = None) -> Any:
    judge, client = role_model(reply, "fake/judge")
    (finding,) = await validity([one], ValidityCheck(prompt(), of or spec(), judge))
    return finding, client


@pytest.mark.parametrize(("verdict", "status"), [("keeps", "valid"), ("breaks", "invalid"), ("unclear", "unknown")])
async def test_sentences_are_read_by_a_judge(verdict: str, status: str) -> None:
    finding, client = await one_of(case(), says(verdict))
    assert (finding.case, finding.status, finding.source) == ("c1", status, "judge:fake/judge")
    assert len(client.requests) == 1
    assert "a rose" in asked(client.requests[0])
    assert "(thing) The thing is an object." in asked(client.requests[0])
    if verdict != "keeps":
        assert finding.reasons == (f"(thing) The thing is an object. It {verdict}.",)


@pytest.mark.parametrize("reply", ["no JSON at all", {"c1": {"verdict": "keeps"}}, Unavailable("gone", model="m")])
async def test_a_judge_that_cannot_be_read_makes_nothing_invalid(reply: Any) -> None:
    finding, _ = await one_of(case(), lambda request: reply)
    assert finding.status == "unknown"
    assert finding.reasons == ("the judge could not be read",)


async def test_a_judge_without_a_key_ends_the_stage() -> None:
    with pytest.raises(NotAuthorised):
        await one_of(case(), lambda request: NotAuthorised("no key", model="m"))


async def test_what_code_decides_is_not_asked_about() -> None:
    short = spec().replace(inputs={"thing": VariableSpec(constraints=("x",), max_length=3)})
    finding, client = await one_of(case(), says("keeps"), short)
    assert (finding.status, finding.source) == ("invalid", "code")
    assert finding.reasons == ("thing has 6 characters, more than 3",)
    assert client.requests == []
    finding, client = await one_of(case(), says("keeps"), spec().replace(inputs={}))
    assert finding.status == "valid"
    assert client.requests == []


async def test_without_a_judge_sentences_stay_open() -> None:
    (finding,) = await validity([case()], ValidityCheck(prompt(), spec()))
    assert finding.status == "unknown"
    (finding,) = await validity([case()], ValidityCheck(prompt(), spec().replace(inputs={})))
    assert finding.status == "valid"


def test_code_holds_inputs_to_types_and_input_checks() -> None:
    check = InputCheck(kind="contains", value="{{place}}", variable="thing")
    of = spec().replace(input_checks=(check,), inputs={"place": VariableSpec(type="integer")})
    bad = case().replace(inputs={"thing": "a rose", "place": "here"})
    problems = code_problems(bad, prompt(), of)
    assert len(problems) == 2
    assert problems[0] == 'place is "here", and not of type integer'
    assert problems[1].startswith("the input thing breaks")
    assert code_problems(bad.replace(inputs={"thing": "3 roses", "place": 3}), prompt(), of) == []
    assert code_problems(bad.replace(inputs={"place": 3}), prompt(), of) == ["thing is missing"]


async def test_lint_errors_make_a_case_invalid() -> None:
    (finding,) = await validity([case(thing="The output has several words.")], ValidityCheck(prompt(), spec()))
    assert finding.status == "invalid"
    assert finding.reasons[0].startswith("echoes-rule: ")


async def test_what_holds_of_all_inputs_together_is_asked_too() -> None:
    of = spec().replace(inputs={WHOLE_INPUT: VariableSpec(constraints=("The thing can be in the place.",))})
    _, client = await one_of(case(), says("keeps"), of)
    assert "(all together) The thing can be in the place." in asked(client.requests[0])
