"""What an author is shown of cases that exist, and which of new ones hold the answer."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.generate import generate
from promptpex.cases.new_cases_request import LEAST_SHARE, CaseExcerpts
from promptpex.cases.plan import Generation, Scenario, balance_answerable, context_variable, plan, targets_of
from promptpex.core.records import Case, Prompt, Request, Suite, VariableSpec
from tests.samples import asked, prompt, role_model, spec, wanted_cases, written_cases

RAG = prompt("Answer from the context alone.", ("question", "context"))


@pytest.mark.parametrize(
    ("variables", "context"),
    [
        (("question", "context"), "context"),
        (("retrievedDocs", "userQuery"), "retrievedDocs"),
        (("cau_hoi", "tai_lieu"), "tai_lieu"),
        (("質問", "文脈"), "文脈"),
        (("document", "language"), None),
        (("question",), None),
        (("thing", "place"), None),
        (("contextual", "question"), None),
    ],
)
def test_names_tell_the_context(variables: tuple[str, ...], context: str | None) -> None:
    assert context_variable(prompt("x", variables), spec()) == context


@pytest.mark.parametrize(
    ("fields", "context"),
    [
        ({"unknown": {"context": "place"}}, "place"),
        ({"unknown": {"context": "none"}}, None),
        ({"meta": {"inputs": {"thing": {"context": True}}}}, "thing"),
        ({"meta": {"inputs": {"thing": {"type": "document"}, "place": None}}}, "thing"),
        ({"unknown": {"context": "elsewhere"}}, None),
    ],
)
def test_front_matter_decides_where_it_speaks(fields: dict[str, Any], context: str | None) -> None:
    assert context_variable(prompt().replace(**fields), spec()) == context


def test_front_matter_can_say_that_there_is_none_and_a_typed_variable_is_none() -> None:
    assert context_variable(RAG.replace(unknown={"context": "none"}), spec()) is None
    typed = spec().replace(inputs={"context": VariableSpec(type="json")})
    assert context_variable(RAG, typed) is None


def author(more: int = 0) -> Any:
    count = itertools.count(1)

    def reply(request: Request) -> Any:
        aims = wanted_cases(request)
        inputs = [(aim, {"question": f"question {next(count)}", "context": "c"}) for aim in (*aims, *aims[:1] * more)]
        return {"cases": [{"aim": aim, "reasoning": "why", "inputs": one} for aim, one in inputs]}

    return role_model(reply)


async def suite_of(options: Generation, of: Prompt = RAG, before: Suite | None = None) -> tuple[Suite, Any]:
    voice, client = author()
    todo = plan(of, spec(), before or Suite(prompt="p"), options=options)
    return await generate(voice, of, spec(), todo, suite_for="p", options=options), client


@pytest.mark.parametrize(
    "options", [Generation(1, 1), Generation(3, 2, rules_per_request=1), Generation(1, 0), Generation(5, 0)]
)
async def test_half_of_the_cases_hold_the_answer_and_say_so(options: Generation) -> None:
    suite, _ = await suite_of(options)
    kinds = [case.answer_in_context for case in suite.cases]
    assert None not in kinds
    assert abs(kinds.count(True) - kinds.count(False)) <= 1
    assert (await suite_of(options))[0] == suite


async def test_the_author_is_shown_which_inputs_hold_it() -> None:
    _, client = await suite_of(Generation(3, 0))
    (text,) = (asked(request) for request in client.requests)
    assert '"context" is the material' in text
    assert 'apart from "context", never contains the answer' in text
    assert "(3 inputs, promise, 2 with the answer)" in text
    assert "(3 inputs, promise, 1 with the answer)" in text


async def test_new_cases_even_out_what_is_kept() -> None:
    suite, _ = await suite_of(Generation(1, 1))
    kept = suite.replace(cases=tuple(case for case in suite.cases if case.answer_in_context))
    again, client = await suite_of(Generation(1, 1), before=kept)
    assert len(wanted_cases(client.requests[0])) == 2
    assert [case.answer_in_context for case in again.cases].count(True) == 2
    assert [case for case in again.cases if case.answer_in_context] == list(kept.cases)


async def test_other_prompts_and_fixed_contexts_have_no_halves() -> None:
    fixed = Generation(1, 0, scenarios=(Scenario("one", (), {"context": "The tower is red."}),))
    voice, client = role_model(
        lambda request: written_cases(request, lambda aim, number: {"question": f"{aim} {number}"})
    )
    todo = plan(RAG, spec(), Suite(prompt="p"), options=fixed)
    suite = await generate(voice, RAG, spec(), todo, suite_for="p", options=fixed)
    assert {case.answer_in_context for case in suite.cases} == {None}
    assert "is the material" not in asked(client.requests[0])


def test_the_context_is_part_of_what_a_case_is_made_from() -> None:
    options = Generation(1, 0)
    with_it = targets_of(RAG, spec(), options=options)[0].inputs_fingerprint
    without = targets_of(RAG.replace(unknown={"context": "none"}), spec(), options=options)[0].inputs_fingerprint
    assert with_it != without


@pytest.mark.parametrize("name", ["p.cases.yaml", "p.cases.csv", "p.cases.jsonl"])
def test_the_record_is_read_back_whatever_becomes_of_the_reasoning(name: str, tmp_path: Path) -> None:
    """It was a sentence at the end of the reasoning, and lost to whoever wrote that anew."""
    given = {"a": True, "b": False, "c": None}
    cases = [Case(id=case, inputs={"input": case}, answer_in_context=holds) for case, holds in given.items()]
    write_suite(tmp_path / name, Suite(prompt="p.md", cases=tuple(cases)))
    cases_read = read_suite(tmp_path / name).cases
    assert {case.id: case.answer_in_context for case in cases_read} == given
    rewritten = [case.replace(reasoning="written anew") for case in cases_read]
    assert balance_answerable(rewritten[:1], [("r1", 1)]) == [0]


@given(
    st.lists(st.tuples(st.sampled_from(["r1", "r1-inverse", "r2"]), st.integers(0, 5))),
    st.lists(st.booleans(), max_size=6),
)
def test_the_halves_come_as_near_as_they_can(wanted: list[tuple[str, int]], kept: list[bool]) -> None:
    cases = [Case(id="c", inputs={}, answer_in_context=holds) for holds in kept]
    shares = balance_answerable(cases, wanted)
    assert all(0 <= share <= count for share, (_, count) in zip(shares, wanted, strict=True))
    total = sum(count for _, count in wanted)
    lead = abs(kept.count(True) - kept.count(False))
    difference = kept.count(True) + sum(shares) - (kept.count(False) + total - sum(shares))
    assert abs(difference) <= max(1, lead - total)


def case(**inputs: Any) -> Case:
    return Case(id="c", rule="r1", inputs=inputs)


def record(tenant: str, **more: Any) -> dict[str, Any]:
    usual = {"tenant": tenant, "vulnerable": False, "place": {"floor": 1, "tap": "under the kitchen sink"}, "jobs": []}
    return {**usual, **more}


def test_of_a_json_object_the_members_are_shown_that_most_cases_do_not_have() -> None:
    records = [record("Ada"), record("Bo", vulnerable=True), record("Cy", place={"floor": 7, "tap": None})]
    cases = [case(record=records[0]), case(record=json.dumps(records[1])), case(record=records[2])]
    excerpts = CaseExcerpts(cases)
    assert [excerpts.of(one, 160) for one in cases] == [
        "tenant: Ada",
        "tenant: Bo, vulnerable: true",
        "tenant: Cy, place.floor: 7, place.tap: null",
    ]


def test_a_beginning_that_all_texts_share_is_left_out() -> None:
    cases = [case(text=f"Sentence with a word to tag:\n{end}") for end in ("She sings.", "He runs.")]
    assert [CaseExcerpts(cases).of(one, 160) for one in cases] == ["…She sings.", "…He runs."]
    short = [case(text=f"Word: {end}") for end in ("sings", "runs")]
    assert [CaseExcerpts(short).of(one, 160) for one in short] == ["Word: sings", "Word: runs"]


def test_what_short_values_do_not_need_goes_to_long_ones() -> None:
    long = "x" * 500
    one = case(when="Monday", first=long, second=long)
    lengths = [len(part) for part in CaseExcerpts([one]).of(one, 160).split(" | ")]
    assert lengths[0] == len("Monday")
    assert lengths[1] == lengths[2] == (160 - LEAST_SHARE) / 2


def test_values_that_are_no_objects_and_missing_ones_are_texts() -> None:
    cases = [case(a="{broken", b=3), case(a="[" * 5000, b=None), case(a="{}")]
    excerpts = CaseExcerpts(cases)
    assert excerpts.of(cases[0], 160) == "{broken | 3"
    assert excerpts.of(cases[1], 160).endswith("… | null")
    assert excerpts.of(cases[2], 160) == "{}"
