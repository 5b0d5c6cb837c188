from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.comparable_words import folded, sentences, slug
from promptpex.cases.degenerate_text import of_language, scripts_of, share_in
from promptpex.codecs.text.inputs_as_text import inputs_text


def test_folding_forgets_case_width_and_punctuation() -> None:
    assert folded("  Ｔhe  FOX, (jumps)!\n") == folded("the fox — jumps") == "the fox jumps"
    assert folded("Tiếng Việt") == "tiếng việt"


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


def test_sentences_end_in_any_script() -> None:
    assert sentences("One. Two!\nThree? 四。五。 छह। سبعة؟ ثمانية") == [
        "One.",
        "Two!",
        "Three?",
        "四。",
        "五。",
        "छह।",
        "سبعة؟",
        "ثمانية",
    ]


@given(st.text())
def test_sentences_lose_blanks_only(text: str) -> None:
    kept = "".join("".join(sentences(text)).split())
    assert len(kept) <= len("".join(text.split()))
    assert all(part.strip() == part and part for part in sentences(text))


def test_inputs_are_shown_alone_or_under_their_names() -> None:
    assert inputs_text({"a": "x"}) == "x"
    assert inputs_text({"a": "x", "b": [1, "é"]}) == 'a:\nx\n\nb:\n[1, "é"]'


@given(st.text(min_size=1))
def test_a_slug_can_stand_in_an_id(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", slug(name))


def test_slugs_of_different_names_differ() -> None:
    assert slug("night-1") == "night-1"
    assert slug("đêm") != slug("ngày")
    assert slug("夜") != slug("昼")


@pytest.mark.parametrize(
    ("text", "script"), [("chữ quốc ngữ", "Latin"), ("слово", "Cyrillic"), ("ことば", "Kana"), ("词语", "Han")]
)
def test_scripts_are_told_apart(text: str, script: str) -> None:
    assert scripts_of(text).most_common(1)[0][0] == script
    assert share_in(text, frozenset({script})) == 1


def test_languages_have_scripts() -> None:
    assert of_language("ja") == {"Han", "Kana"}
    assert of_language("sr-Latn") == {"Latin", "Cyrillic"}
    assert of_language("pt_BR") == {"Latin"}
    assert share_in("123 !", of_language("en")) is None
