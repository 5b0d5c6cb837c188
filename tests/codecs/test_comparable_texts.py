"""Composed letters: the standard form, without the quadratic time that many marks in a row take."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from promptpex.codecs.comparable_texts import MOST_MARKS, composed


@given(st.text(st.characters() | st.sampled_from("e\u0301\u0327\u0323\u1100\u1161"), max_size=MOST_MARKS))
def test_texts_that_people_write_have_the_standard_form(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", text)


def test_only_a_long_run_of_marks_stays_as_it_is() -> None:
    run = "\u0301\u0327" * MOST_MARKS
    assert composed(f"e\u0301{'.'}e{run}.e\u0301") == f"\u00e9.e{run}.\u00e9"
    assert composed("a" + "\u0301" * MOST_MARKS) == unicodedata.normalize("NFC", "a" + "\u0301" * MOST_MARKS)


def test_a_million_marks_are_read_within_a_test() -> None:
    text = "a" + "\u0301\u0327" * 500_000
    assert composed(text) == text
