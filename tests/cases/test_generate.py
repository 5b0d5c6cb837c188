from __future__ import annotations

import itertools
from typing import Any

from promptpex.cases.generate import generate, input_spec_text, keep_unreplaced, read_value
from promptpex.cases.plan import Generation, Plan, Scenario, plan
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Request, Spec, Suite, VariableSpec
from tests.samples import asked, prompt, role_model, spec

NEW = {"thing": "new", "place": "here"}
OPTIONS = Generation(per_rule=2, per_inverse=1)


def numbered() -> Any:
    count = itertools.count(1)

    def reply(request: Request) -> Any:
        wanted = 2 if "Write 2 valid" in asked(request) else 1
        inputs = [{"thing": f"thing {next(count)}", "place": "here"} for _ in range(wanted)]
        return {"cases": [{"reasoning": " why ", "inputs": one} for one in inputs]}

    return reply


def todo(suite: Suite, of: Spec | None = None, options: Generation = OPTIONS, author: str = "fake/author") -> Plan:
    return plan(prompt(), of or spec(), suite, author=author, options=options)


async def full_suite() -> Suite:
    voice, _ = role_model(numbered())
    empty = Suite(prompt="prompt.md")
    return await generate(voice, prompt(), spec(), todo(empty), suite_for="prompt.md", options=OPTIONS)


async def test_each_rule_and_inverse_gets_its_cases() -> None:
    suite = await full_suite()
    ids = [case.id for case in suite.cases]
    assert ids == ["r1-1", "r1-2", "r1-inverse-1", "r2-1", "r2-2", "r2-inverse-1"]
    assert all(
        case.origin == "generated" and case.inputs_fingerprint and case.reasoning == "why" for case in suite.cases
    )
    assert suite.cases[2].inverse
    assert suite.cases[2].rule == "r1"


async def test_a_full_suite_needs_nothing() -> None:
    suite = await full_suite()
    assert todo(suite).missing == 0
    assert todo(suite).retire == ()


async def test_editing_one_rule_asks_for_its_cases_and_no_others() -> None:
    suite = await full_suite()
    edited = spec().replace(rules=(spec().rules[0].replace(rule="One short word."), spec().rules[1]))
    again = todo(suite, edited)
    assert {case.id for case in again.retire} == {"r1-1", "r1-2", "r1-inverse-1"}
    voice, client = role_model(numbered())
    made = await generate(voice, prompt(), edited, again, suite_for="prompt.md", options=OPTIONS)
    assert len(client.requests) == 2
    assert [case for case in made.cases if case.rule == "r2"] == [case for case in suite.cases if case.rule == "r2"]


async def test_editing_an_inverse_leaves_the_cases_of_its_rule() -> None:
    suite = await full_suite()
    edited = spec().replace(rules=(spec().rules[0].replace(inverse="Two words."), spec().rules[1]))
    assert [case.id for case in todo(suite, edited).retire] == ["r1-inverse-1"]


async def test_what_people_wrote_stays_and_a_lost_rule_is_said() -> None:
    suite = await full_suite()
    mine = Case(id="mine", rule="r1", inputs={"thing": "x", "place": "y"}, origin="added")
    edited = suite.cases[0].replace(origin="edited", inputs={"thing": "z", "place": "y"})
    suite = suite.replace(cases=(edited, mine, *suite.cases[1:]))
    without = spec().replace(rules=spec().rules[1:])
    again = todo(suite, without)
    assert {case.id for case in again.orphans} == {"r1-1", "mine"}
    assert {case.id for case in again.retire} == {"r1-2", "r1-inverse-1"}
    assert again.missing == 0


async def test_another_author_or_input_spec_makes_all_cases_stale() -> None:
    suite = await full_suite()
    assert todo(suite, author="other").missing == 6
    changed = spec().replace(inputs={"thing": VariableSpec(constraints=("The thing is alive.",))})
    assert todo(suite, changed).missing == 6


async def test_repeated_inputs_are_dropped_and_said() -> None:
    heard: list[Event] = []
    voice, _ = role_model(lambda request: {"cases": [{"reasoning": "", "inputs": {"thing": "same", "place": "Same"}}]})
    empty = Suite(prompt="prompt.md")
    suite = await generate(
        voice, prompt(), spec(), todo(empty), suite_for="prompt.md", options=OPTIONS, emit=heard.append
    )
    assert len(suite.cases) == 1
    assert any(isinstance(event, Notice) and "5 of 6" in event.message for event in heard)


async def test_scenarios_multiply_the_aims_and_fix_variables() -> None:
    options = Generation(1, 0, scenarios=(Scenario("night", ("It is dark.",), {"place": "moon"}), Scenario("day")))
    voice, client = role_model(lambda request: _reply_to_scenario(asked(request)))
    plan_ = todo(Suite(prompt="p"), options=options)
    suite = await generate(voice, prompt(), spec(), plan_, suite_for="p", options=options)
    assert [case.scenario for case in suite.cases] == ["night", "day", "night", "day"]
    assert suite.cases[0].inputs["place"] == "moon"
    assert "It is dark." in asked(client.requests[0])


def _reply_to_scenario(text: str) -> Any:
    inputs = {"thing": str(hash(text))}
    if "moon" not in text:
        inputs["place"] = "here"
    return {"cases": [{"reasoning": "", "inputs": inputs}]}


async def test_requests_ask_for_a_few_cases_at_a_time() -> None:
    voice, client = role_model(numbered())
    options = Generation(per_rule=7, per_inverse=0, batch=3)
    await generate(voice, prompt(), spec(), todo(Suite(prompt="p"), options=options), suite_for="p", options=options)
    assert len(client.requests) == 6
    assert len({request.id for request in client.requests}) == 6


def test_typed_values_are_read_and_described() -> None:
    number = VariableSpec(type="number", minimum=1, maximum=9)
    assert read_value("3.5", number) == 3.5
    assert read_value("many", number) == "many"
    assert read_value("7", VariableSpec()) == "7"
    text = input_spec_text(prompt(), spec().replace(inputs={"thing": number}))
    assert "At least 1" in text
    assert "type number" in text


async def test_a_case_is_retired_only_when_its_successor_is_there() -> None:
    suite = await full_suite()
    edited = spec().replace(rules=(spec().rules[0].replace(rule="One short word."), spec().rules[1]))
    again = todo(suite, edited)

    def failing(request: Request) -> Any:
        return "no" if "Write 1 valid" in asked(request) else {"cases": [{"reasoning": "", "inputs": NEW}]}

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
