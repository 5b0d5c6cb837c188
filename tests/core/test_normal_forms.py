"""Normal forms: the standard ones, without the quadratic time that many marks in a row take."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.sentences import MOST_MARKS, Form, normal_form

ROOT = Path(__file__).parents[2]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")


@given(st.text(st.characters() | st.sampled_from("e\u0301\u0327\u0323\u1100\u1161"), max_size=MOST_MARKS))
def test_texts_that_people_write_have_the_standard_form(text: str) -> None:
    for form in FORMS:
        assert normal_form(form, text) == unicodedata.normalize(form, text)


def test_only_a_long_run_of_marks_stays_as_it_is() -> None:
    run = "\u0301\u0327" * MOST_MARKS
    assert normal_form("NFC", f"e\u0301{'.'}e{run}.e\u0301") == f"\u00e9.e{run}.\u00e9"
    assert normal_form("NFC", "a" + "\u0301" * MOST_MARKS) == unicodedata.normalize("NFC", "a" + "\u0301" * MOST_MARKS)


def test_a_million_marks_are_read_within_a_test() -> None:
    text = "a" + "\u0301\u0327" * 500_000
    assert normal_form("NFC", text) == text


def test_no_other_module_takes_the_quadratic_way() -> None:
    modules = (ROOT / "promptpex").rglob("*.py")
    assert [path.name for path in modules if "unicodedata.normalize" in path.read_text("utf-8")] == ["sentences.py"]
