"""Candidates as people write them: what is shown reads back the same, and any text is a check or a sentence."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptpex.core.errors import CheckError
from promptpex.core.records import Candidate, Check, Criterion, Implication, Synthesis
from promptpex.core.records.criteria_board import CandidateForm
from promptpex.synthesis import edit_criteria
from promptpex.synthesis.edit_criteria import form_of, name_of, shown, written

PYTHON = "def is_short(example, prompt, response):\n    return len(response) < 9"


@pytest.mark.parametrize(
    ("check", "form"),
    [
        (Check(kind="python", value=PYTHON), "python"),
        (Check(kind="question", value="Is it kind?"), "question"),
        (Check(kind="python", value=PYTHON, weight=2), "yaml"),
        (Check(kind="not-regex", value="a\\d: '#'", ignore_case=True), "yaml"),
        (Check(kind="word-count", value={"max": 3}, unit="lines"), "yaml"),
        (Check(kind="assert-set", asserts=(Check(kind="contains", value="x"), Check(kind="is-json"))), "yaml"),
    ],
)
def test_what_is_shown_reads_back_the_same(check: Check, form: CandidateForm) -> None:
    assert form_of(check) == form
    assert written(form, shown(check)) == check


@pytest.mark.parametrize(
    ("form", "text", "why"),
    [
        ("yaml", "kind: quiz", "there is no kind 'quiz'"),
        ("yaml", "kind: regex\nvalue: '(['", "does not compile"),
        ("yaml", "knd: regex", "'kind' is missing"),
        ("yaml", "kind: contains\nvalu: x", "'valu' is not known"),
        ("yaml", "just words", "a check is a mapping"),
        ("yaml", "a: [b", "not valid YAML"),
        ("python", "def f(example, prompt, response):\n  return (", "not Python"),
        ("python", "x" * 50_001, "at most 50,000 characters"),
        ("question", " \n", "it needs a question"),
        ("question", "half \ud800 a sign?", "half a character"),
    ],
)
def test_what_cannot_be_used_is_a_sentence(form: CandidateForm, text: str, why: str) -> None:
    with pytest.raises(CheckError, match=why.replace("(", r"\(")):
        written(form, text)


@given(text=st.text(max_size=200), form=st.sampled_from(["python", "question", "yaml"]))
@settings(deadline=None, max_examples=30)
@example(text="kind: python\nvalue: while True: pass", form="yaml")
@example(text="&a [*a, *a]", form="yaml")
def test_any_text_is_a_check_or_a_sentence(text: str, form: CandidateForm) -> None:
    with contextlib.suppress(CheckError):
        check = written(form, text)
        assert written(form_of(check), shown(check)) == check
    assert name_of(form, text) == name_of(form, text).lower()


def test_a_hand_written_candidate_is_called_as_it_says() -> None:
    assert name_of("python", f"import re\n{PYTHON}") == "is_short"
    assert (
        name_of("question", "Does the answer name every product, by its SKU?") == "does_the_answer_name_every_product"
    )
    assert name_of("yaml", "kind: contains") == ""


CRITERIA = tuple(Criterion(id=name, text=f"It is {name}.") for name in ("one", "two", "three"))
BOTH = Candidate(id="both", criteria=("two", "one"), check=Check(kind="contains", value="x"))
TWO = Candidate(id="for_two", criteria=("two",), check=Check(kind="contains", value="y"))
SYNTHESIS = Synthesis(
    prompt="p.md",
    criteria=CRITERIA,
    candidates=(BOTH.written_for(CRITERIA), TWO),
    implications=(Implication(stronger="both", weaker="for_two", evidence="judge"),),
)


def test_what_is_deleted_leaves_nothing_that_names_it() -> None:
    left = edit_criteria.delete(SYNTHESIS, "two")
    assert [(one.id, one.criteria) for one in left.candidates] == [("both", ("one",))]
    assert left.implications == ()


def test_candidates_of_criteria_that_went_meanwhile_are_not_added() -> None:
    new = [BOTH.replace(criteria=("gone",)), BOTH.replace(criteria=("three",))]
    after, names = edit_criteria.with_added_candidates(SYNTHESIS, new)
    assert names == ("both_2",)
    assert [one.id for one in after.candidates] == ["both", "for_two", "both_2"]
