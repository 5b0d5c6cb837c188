from __future__ import annotations

import asyncio
import itertools
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.generate import (
    generate,
    keep_unreplaced,
    mark_invalid,
    replace_invalid,
    within_tries,
)
from promptpex.cases.input_specs import input_spec_text
from promptpex.cases.new_cases_request import read_value
from promptpex.cases.plan import Generation, Plan, Scenario, plan, with_more
from promptpex.cases.validity import ValidityCheck, code_problems
from promptpex.core.errors import ContextTooSmall
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Completion, InputCheck, ModelName, Request, Rule, Spec, Suite, VariableSpec
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.structured import Structured
from tests.samples import asked, broken, prompt, role_model, spec, wanted_cases, written_cases

NEW = {"thing": "new", "place": "here"}
OPTIONS = Generation(per_rule=2, per_inverse=1)


def numbered() -> Any:
    count = itertools.count(1)

    def reply(request: Request) -> Any:
        return written_cases(request, lambda aim, number: {"thing": f"thing {next(count)}", "place": "here"})

    return reply


def todo(suite: Suite, of: Spec | None = None, options: Generation = OPTIONS) -> Plan:
    return plan(prompt(), of or spec(), suite, options=options)


async def full_suite() -> Suite:
    voice, _ = role_model(numbered())
    empty = Suite(prompt="prompt.md")
    return await generate(voice, prompt(), spec(), todo(empty), suite_for="prompt.md", options=OPTIONS)


async def test_editing_one_rule_asks_for_its_cases_and_no_others() -> None:
    suite = await full_suite()
    edited = spec().replace(rules=(spec().rules[0].replace(rule="One short word."), spec().rules[1]))
    again = todo(suite, edited)
    assert {case.id for case in again.retire} == {"r1-1", "r1-2", "r1-inverse-1"}
    voice, client = role_model(numbered())
    made = await generate(voice, prompt(), edited, again, suite_for="prompt.md", options=OPTIONS)
    (request,) = client.requests
    assert wanted_cases(request) == ["r1", "r1", "r1-inverse"]
    assert [case for case in made.cases if case.rule == "r2"] == [case for case in suite.cases if case.rule == "r2"]


async def test_editing_an_inverse_leaves_the_cases_of_its_rule() -> None:
    suite = await full_suite()
    edited = spec().replace(rules=(spec().rules[0].replace(inverse="Two words."), spec().rules[1]))
    assert [case.id for case in todo(suite, edited).retire] == ["r1-inverse-1"]


async def test_what_people_wrote_stays_and_a_lost_rule_is_named() -> None:
    suite = await full_suite()
    mine = Case(id="mine", rule="r1", inputs={"thing": "x", "place": "y"}, origin="added")
    edited = suite.cases[0].replace(origin="edited", inputs={"thing": "z", "place": "y"})
    suite = suite.replace(cases=(edited, mine, *suite.cases[1:]))
    without = spec().replace(rules=spec().rules[1:])
    again = todo(suite, without)
    assert {case.id for case in again.orphans} == {"r1-1", "mine"}
    assert {case.id for case in again.retire} == {"r1-2", "r1-inverse-1"}
    assert again.missing == 0


@given(
    st.builds(
        Generation,
        per_rule=st.integers(0, 4),
        per_inverse=st.integers(0, 3),
        rules_per_request=st.integers(1, 9),
        samples=st.tuples(st.text()),
        instructions=st.text(),
        own_count=st.booleans(),
    ),
    st.sampled_from(["0123456789abcdef", None]),
)
def test_no_option_but_replace_retires_a_usable_case_whose_rule_and_inputs_are_as_they_were(
    options: Generation, fingerprint: str | None
) -> None:
    """Nor is one retired whose fingerprint is of an earlier version, which held the author as well."""
    suite = asyncio.run(full_suite())
    if fingerprint:
        suite = suite.replace(cases=tuple(case.replace(inputs_fingerprint=fingerprint) for case in suite.cases))
    kept = todo(suite, options=options)
    assert ([case.id for case in kept.keep], kept.retire) == ([case.id for case in suite.cases], ())
    assert all(case.inputs_fingerprint != fingerprint for case in kept.keep)
    more = with_more(options, prompt(), spec(), suite, more=1)
    assert todo(suite, options=more).retire == ()


async def test_repeated_inputs_are_dropped_and_reported() -> None:
    heard: list[Event] = []
    voice, client = role_model(
        lambda request: written_cases(request, lambda aim, number: {"thing": "same", "place": "Same"})
    )
    empty = Suite(prompt="prompt.md")
    suite = await generate(
        voice, prompt(), spec(), todo(empty), suite_for="prompt.md", options=OPTIONS, emit=heard.append
    )
    assert len(suite.cases) == 1
    assert any(isinstance(event, Notice) and "5 of 6" in event.message for event in heard)
    assert len(client.requests) == 2, "what was repeated is asked for once more"


async def test_scenarios_multiply_the_aims_and_fix_variables() -> None:
    options = Generation(1, 0, scenarios=(Scenario("night", ("It is dark.",), {"place": "moon"}), Scenario("day")))
    voice, client = role_model(lambda request: written_cases(request, partial(_in_scenario, asked(request))))
    plan_ = todo(Suite(prompt="p"), options=options)
    suite = await generate(voice, prompt(), spec(), plan_, suite_for="p", options=options)
    assert [case.scenario for case in suite.cases] == ["night", "day", "night", "day"]
    assert suite.cases[0].inputs["place"] == "moon"
    assert "It is dark." in asked(client.requests[0])


def _in_scenario(text: str, aim: str, number: int) -> dict[str, str]:
    fixed = "It is dark." in text
    inputs = {"thing": f"{aim} {fixed}"}
    return inputs if fixed else {**inputs, "place": "here"}


def rules(count: int) -> Spec:
    return Spec(
        prompt="p", rules=tuple(Rule(id=f"r{n}", rule=f"Rule {n}.", inverse=f"No {n}.") for n in range(1, count + 1))
    )


@pytest.mark.parametrize(
    ("options", "requests"),
    [
        (Generation(2, 1), [15, 15]),
        (Generation(2, 1, rules_per_request=4), [12, 12, 6]),
        (Generation(2, 1, rules_per_request=1), [3] * 10),
        (Generation(6, 3), [18] * 5),
        (Generation(1, 0, rules_per_request=10), [10]),
    ],
)
async def test_rules_and_inverses_are_asked_for_together(options: Generation, requests: list[int]) -> None:
    voice, client = role_model(numbered())
    todo_ = todo(Suite(prompt="p"), rules(10), options)
    suite = await generate(voice, prompt(), rules(10), todo_, suite_for="p", options=options)
    assert [len(wanted_cases(request)) for request in client.requests] == requests
    assert len(suite.cases) == todo_.missing


async def test_many_cases_of_one_rule_are_asked_for_in_several_requests() -> None:
    voice, client = role_model(numbered())
    options = Generation(per_rule=25, per_inverse=1)
    todo_ = todo(Suite(prompt="p"), rules(1), options)
    suite = await generate(voice, prompt(), rules(1), todo_, suite_for="p", options=options)
    assert [len(wanted_cases(request)) for request in client.requests] == [20, 5, 1]
    assert len(suite.cases) == 26


async def test_an_author_sees_what_other_rules_have() -> None:
    voice, client = role_model(numbered())
    options = Generation(1, 0, rules_per_request=1)
    await generate(
        voice, prompt(), rules(3), todo(Suite(prompt="p"), rules(3), options), suite_for="p", options=options
    )
    first, second, third = map(asked, client.requests)
    assert "exist already" not in first
    assert "r1: thing 1 | here" in second
    assert "r1: thing 1 | here" in third
    assert first[: first.index("The aim, with")] == second[: second.index("These inputs exist")].rstrip() + "\n\n", (
        "what is the same stands first"
    )


async def test_the_same_situation_in_other_words_is_replaced() -> None:
    stories = iter(
        ["My parcel has not arrived although it shipped last week", "It shipped last week, my parcel, has not arrived",
         "The kettle leaks when boiling", "Please cancel the order for lamps"]
    )  # fmt: skip
    voice, client = role_model(
        lambda request: written_cases(request, lambda aim, number: {"thing": next(stories), "place": "x"})
    )
    options = Generation(1, 0)
    suite = await generate(
        voice, prompt(), rules(3), todo(Suite(prompt="p"), rules(3), options), suite_for="p", options=options
    )
    assert [wanted_cases(request) for request in client.requests] == [["r1", "r2", "r3"], ["r2"]]
    assert [case.inputs["thing"].split()[0] for case in suite.cases] == ["My", "Please", "The"]


async def test_what_is_alike_stays_where_nothing_better_comes() -> None:
    stories = itertools.cycle(["My parcel has not arrived today", "Today, arrived, my parcel has not"])
    voice, client = role_model(
        lambda request: written_cases(request, lambda aim, number: {"thing": next(stories), "place": "x"})
    )
    options = Generation(1, 0)
    suite = await generate(
        voice, prompt(), rules(2), todo(Suite(prompt="p"), rules(2), options), suite_for="p", options=options
    )
    assert len(client.requests) == 2
    assert len(suite.cases) == 2


async def test_a_spoilt_case_does_not_cost_the_others() -> None:
    numbered_reply = numbered()

    def spoilt(request: Request) -> Any:
        cases = numbered_reply(request)["cases"]
        return {"cases": [{"aim": "r9"}, "nothing", *cases[1:]] if len(cases) > 1 else cases}

    voice, client = role_model(spoilt)
    suite = await generate(voice, prompt(), spec(), todo(Suite(prompt="p")), suite_for="p", options=OPTIONS)
    assert [wanted_cases(request) for request in client.requests] == [
        ["r1", "r1", "r1-inverse", "r2", "r2", "r2-inverse"],
        ["r1"],
    ]
    assert len(suite.cases) == 6


async def test_the_whole_cases_of_a_reply_that_was_cut_are_kept() -> None:
    numbered_reply = numbered()
    whole: list[bool] = []

    def cut(request: Request) -> Any:
        text = json.dumps(numbered_reply(request))
        whole.append(bool(whole))
        return text if whole[-1] else Completion(text=text[:-60], finish_reason="length")

    client = FakeClient(cut)
    voice = RoleModel(Structured(client), ModelName(name="fake/author", label="fake/author"))
    suite = await generate(voice, prompt(), spec(), todo(Suite(prompt="p")), suite_for="p", options=OPTIONS)
    assert [wanted_cases(request) for request in client.requests][1:] == [["r2-inverse"]]
    assert len(suite.cases) == 6


async def test_a_reply_of_no_use_is_asked_for_aim_by_aim() -> None:
    numbered_reply = numbered()
    voice, client = role_model(
        lambda request: numbered_reply(request) if len(set(wanted_cases(request))) == 1 else "I would rather not."
    )
    suite = await generate(voice, prompt(), spec(), todo(Suite(prompt="p")), suite_for="p", options=OPTIONS)
    assert len(suite.cases) == 6
    assert [wanted_cases(request) for request in client.requests][2:] == [
        ["r1", "r1"],
        ["r1-inverse"],
        ["r2", "r2"],
        ["r2-inverse"],
    ]


async def test_a_request_that_is_too_long_is_asked_for_aim_by_aim() -> None:
    numbered_reply = numbered()
    too_long = ContextTooSmall("too long", model="m")
    voice, client = role_model(
        lambda request: numbered_reply(request) if len(set(wanted_cases(request))) == 1 else too_long
    )
    suite = await generate(voice, prompt(), spec(), todo(Suite(prompt="p")), suite_for="p", options=OPTIONS)
    assert len(suite.cases) == 6
    assert len(client.requests) == 5


@pytest.mark.parametrize(("rules_", "room"), [(2, 2048), (4, 3600), (6, 4096)])
async def test_a_reply_has_room_for_its_cases_within_what_models_allow(rules_: int, room: int) -> None:
    voice, client = role_model(numbered())
    options = Generation(2, 1, rules_per_request=6)
    todo_ = todo(Suite(prompt="p"), rules(rules_), options)
    await generate(voice, prompt(), rules(rules_), todo_, suite_for="p", options=options)
    assert [request.params.max_tokens for request in client.requests] == [room]


async def test_more_cases_stay_whatever_the_counts() -> None:
    suite = await full_suite()
    more = with_more(OPTIONS, prompt(), spec(), suite, more=2)
    voice, client = role_model(
        lambda request: written_cases(request, lambda aim, n: {"thing": f"{aim}, more {n}", "place": "x"})
    )
    grown = await generate(voice, prompt(), spec(), todo(suite, options=more), suite_for="prompt.md", options=more)
    assert len(grown.cases) == 6 + 8
    assert "r1: thing 1 | here" in asked(client.requests[0])
    assert todo(grown).missing == 0
    assert todo(grown).retire == ()
    assert len(todo(grown, options=Generation(1, 1, replace=True)).retire) == 2
    assert todo(grown, options=more).missing == 0
    again = with_more(OPTIONS, prompt(), spec(), grown, more=1)
    assert todo(grown, options=again).missing == 4


def test_a_case_whose_condition_does_not_hold_is_no_test_of_its_rule() -> None:
    when = (InputCheck(kind="contains", value="status: open", variable="thing"),)
    rule = spec().rules[0].replace(needs="input", when=when, origin="edited")
    of = spec().replace(rules=(rule, spec().rules[1]))
    case = Case(id="c", rule="r1", inputs={"thing": "status: shut", "place": "x"})
    (problem,) = code_problems(case, prompt(), of)
    assert problem.startswith("the condition of r1 does not hold: the input thing")
    assert code_problems(case.replace(rule="r2"), prompt(), of) == []
    proposed = of.replace(rules=(rule.replace(origin="extracted"), spec().rules[1]))
    assert code_problems(case, prompt(), proposed) == []
    assert code_problems(case.replace(inputs={"thing": "status: open", "place": "x"}), prompt(), of) == []


def test_typed_values_are_read_and_described() -> None:
    number = VariableSpec(type="number", minimum=1, maximum=9)
    assert read_value("3.5", number) == 3.5
    assert read_value("many", number) == "many"
    assert read_value("7", VariableSpec()) == "7"
    text = input_spec_text(prompt(), spec().replace(inputs={"thing": number}))
    assert "At least 1" in text
    assert "A JSON number." in text


async def test_a_case_is_retired_only_when_its_successor_is_there() -> None:
    suite = await full_suite()
    edited = spec().replace(rules=(spec().rules[0].replace(rule="One short word."), spec().rules[1]))
    again = todo(suite, edited)

    def failing(request: Request) -> Any:
        aims = wanted_cases(request)
        return "no" if aims != ["r1", "r1"] else {"cases": [{"reasoning": "", "inputs": NEW}]}

    voice, _ = role_model(failing)
    made = await generate(voice, prompt(), edited, again, suite_for="prompt.md", options=OPTIONS)
    kept, done_so_far = keep_unreplaced(again, made, edited)
    stale = [case for case in kept.cases if case in done_so_far.keep and case not in again.keep]
    assert len(stale) == 2
    assert len(done_so_far.retire) == len(again.retire) - 2
    of_r1 = [(case.id, case.inputs["thing"]) for case in kept.cases if case.rule == "r1"]
    assert len({case_id for case_id, _ in of_r1}) == 3
    assert of_r1[0] == ("r1-1", "new")
    assert ("r1-inverse-1", "thing 3") in of_r1
    voice, _ = role_model(numbered())
    done = await generate(voice, prompt(), edited, todo(kept, edited), suite_for="prompt.md", options=OPTIONS)
    whole, as_planned = keep_unreplaced(todo(kept, edited), done, edited)
    assert as_planned == todo(kept, edited)
    assert todo(whole, edited) == Plan(whole.cases, (), (), ())


async def test_a_case_of_a_rule_that_is_gone_has_no_successor() -> None:
    suite = await full_suite()
    without = spec().replace(rules=spec().rules[1:])
    again = todo(suite, without)
    kept, as_planned = keep_unreplaced(again, Suite(prompt="prompt.md", cases=again.keep), without)
    assert (as_planned, {case.rule for case in kept.cases}) == (again, {"r2"})


OPTIONS_REPLACE_INVALID = Generation(per_rule=2, per_inverse=1)


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
    todo = plan(prompt(), spec(), empty, options=OPTIONS_REPLACE_INVALID)
    return await generate(voice, prompt(), spec(), todo, suite_for="prompt.md", options=OPTIONS_REPLACE_INVALID)


async def test_invalid_cases_are_excluded_and_replaced() -> None:
    voice, client = author(2)
    suite = (await made(voice)).replace(match="json")
    events: list[Event] = []
    refined = await replace_invalid(
        voice,
        suite,
        ValidityCheck(prompt(), spec(), voice, emit=events.append),
        options=OPTIONS_REPLACE_INVALID,
        rounds=2,
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
    refined = await replace_invalid(voice, suite, how, options=OPTIONS_REPLACE_INVALID, rounds=rounds)
    assert sum(request.stage == "cases" for request in client.requests[before:]) == requests
    assert refined.suite.usable() == ()
    again = await replace_invalid(voice, refined.suite, how, options=OPTIONS_REPLACE_INVALID, rounds=rounds)
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


def test_the_limit_is_over_all_runs() -> None:
    todo = plan(prompt(), spec(), Suite(prompt="p"), options=Generation(1, 0))
    target = todo.make[0][0]
    spent = tuple(case(f"x{n}", f"t{n}", inputs_fingerprint=target.inputs_fingerprint, invalid="bad") for n in range(2))
    again = plan(prompt(), spec(), Suite(prompt="p", cases=spent), options=Generation(1, 0))
    assert [one.rule.id for one, _ in again.make] == ["r1", "r2"]
    assert [one.rule.id for one, _ in within_tries(again, tries=1).make] == ["r2"]
    assert [one.rule.id for one, _ in within_tries(again, tries=2).make] == ["r1", "r2"]
