from __future__ import annotations

from typing import Any

import pytest

from promptpex.cases.validity import ValidityCheck, code_problems, validity
from promptpex.core.errors import NotAuthorised, Unavailable
from promptpex.core.records import WHOLE_INPUT, Case, InputCheck, Spec, VariableSpec
from tests.samples import asked, broken, prompt, role_model, spec


def case(name: str = "c1", thing: str = "a rose", **fields: Any) -> Case:
    return Case(id=name, rule="r1", inputs={"thing": thing, "place": "here"}, **fields)


def says(verdict: str) -> Any:
    return lambda request: broken(request, lambda shown: verdict != "keeps", verdict)


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
    assert "c1: (thing) The thing is an object." in asked(client.requests[0])
    if verdict != "keeps":
        assert finding.reasons == ("(thing) The thing is an object. Look.",)


@pytest.mark.parametrize("reply", ["no JSON at all", {"c1": {"verdict": "keeps"}}, Unavailable("gone", model="m")])
async def test_a_judge_that_cannot_be_read_makes_nothing_invalid(reply: Any) -> None:
    finding, _ = await one_of(case(), lambda request: reply)
    assert finding.status == "unknown"
    assert finding.reasons == ("the judge could not be read",)


def several(count: int) -> list[Case]:
    return [case(f"c{number}", f"thing {number}") for number in range(1, count + 1)]


async def test_several_cases_are_read_at_once_and_only_what_is_wrong_is_named() -> None:
    judge, client = role_model(lambda request: broken(request, lambda shown: "thing 7" in shown))
    findings = await validity(several(10), ValidityCheck(prompt(), spec(), judge))
    assert [finding.case for finding in findings if finding.status != "valid"] == ["c7"]
    assert len(client.requests) == 2


async def test_a_batch_that_cannot_be_read_is_asked_for_case_by_case() -> None:
    judge, client = role_model(
        lambda request: {"problems": []} if "<i2-" not in asked(request) and "thing 2" not in asked(request) else "?"
    )
    findings = await validity(several(3), ValidityCheck(prompt(), spec(), judge))
    assert [finding.status for finding in findings] == ["valid", "unknown", "valid"]
    assert len(client.requests) == 2 + 1 + 2 + 1


async def test_a_problem_that_names_nothing_is_left_out_and_the_others_count() -> None:
    problems = [
        {"input": "i9", "sentence": "c1", "reason": "", "verdict": "breaks"},
        {"input": "i1", "sentence": "c7", "reason": "", "verdict": "breaks"},
        {"input": "i2", "sentence": "c1", "reason": "No.", "verdict": "breaks"},
    ]
    judge, _ = role_model(lambda request: {"problems": problems})
    findings = await validity(several(2), ValidityCheck(prompt(), spec(), judge))
    assert [finding.status for finding in findings] == ["valid", "invalid"]


async def test_what_is_valid_besides_is_shown_and_not_asked() -> None:
    of = spec().replace(inputs={"thing": VariableSpec(constraints=("It is a thing.", "Also valid: an empty value."))})
    _, client = await one_of(case(), says("keeps"), of)
    assert "(thing) Also valid: an empty value." in asked(client.requests[0])
    assert "c2" not in asked(client.requests[0])
    only = spec().replace(inputs={"thing": VariableSpec(constraints=("Also valid: an empty value.",))})
    finding, client = await one_of(case(), says("keeps"), only)
    assert finding.status == "valid"
    assert client.requests == []


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
