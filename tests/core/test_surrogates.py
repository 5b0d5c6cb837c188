"""Lone surrogates: told from whole text, escaped in JSON without loss, replaced where they are shown or sent."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from promptpex.core.sentences import MOST_MARKS, Form, normal_form
from promptpex.core.surrogates import escape_surrogates, has_surrogate, replace_surrogates

texts = st.text(max_size=8) | st.text("a\ud83d\ude00é\udfff", max_size=6)


@given(texts)
@example("\ud800")
def test_what_has_one_is_what_utf8_refuses(text: str) -> None:
    try:
        text.encode()
        refused = False
    except UnicodeEncodeError:
        refused = True
    assert has_surrogate(text) == refused


@given(texts)
@example("\ud83d\ude00")
def test_an_escaped_text_reads_back_as_python_writes_it(text: str) -> None:
    escaped = escape_surrogates(json.dumps([text], ensure_ascii=False))
    escaped.encode()
    assert json.loads(escaped) == json.loads(json.dumps([text]))


@given(texts)
def test_a_replaced_text_can_be_sent_and_whole_text_stays(text: str) -> None:
    replaced = replace_surrogates(text)
    replaced.encode()
    assert has_surrogate(text) or replaced == text


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
