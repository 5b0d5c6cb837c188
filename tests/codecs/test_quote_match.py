"""Quotations match as people and models copy them, and no longer once they promise something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.codecs.text.comparing import How, fragments, match_fragments, normalize

TEXT = (
    "Answer in **at most 80 words**, in “plain” English.\nNever name a competitor, and include the customer's colour."
)


def quoted(source: str, text: str) -> How | None:
    return match_fragments(fragments(source), normalize(text))


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("Answer in at most 80 words", "exact"),
        ("answer in AT MOST 80 words, in 'plain' english", "exact"),
        ("Answer in ... English. Never name a competitor", "exact"),
        ("Never name a competitor, and include the customer's color", "near"),
        ("Never name a competitors", "near"),
        ("Answer in at most 60 words", None),
        ("Answer in at most 8O words", None),
        ("Always name a competitor", None),
        ("Name never a competitor, and include the colour", None),
        ("exclude the customer's colour", None),
        ("Answer in at least 80 words", None),
        ("Answer in French", None),
        ("...", None),
        ("", None),
    ],
)
def test_quoted(source: str, how: How | None) -> None:
    assert quoted(source, TEXT) == how


@pytest.mark.parametrize(
    ("source", "text", "how"),
    [
        ("Chỉ trả lời một nhãn", "Hãy đọc kỹ. Chỉ trả lời một nhãn.", "exact"),
        ("Chỉ trả lời hai nhãn", "Hãy đọc kỹ. Chỉ trả lời một nhãn.", None),
        ("只回复一个标签", "请阅读。只回复一个标签。", "exact"),
        ("只回复两个标签", "请阅读。只回复一个标签。", None),
        ("one", "", None),
    ],
)
def test_other_scripts(source: str, text: str, how: How | None) -> None:
    assert quoted(source, text) == how


@pytest.mark.parametrize("source", ['If there is none, answer ["NA"].', r"If there is none, answer [\"NA\"]."])
@pytest.mark.parametrize("text", ['If there is none, answer ["NA"].', r"If there is none, answer [\"NA\"]."])
def test_escaped_quotation_marks_are_quotation_marks(source: str, text: str) -> None:
    assert quoted(source, text) == "exact"


@given(st.text(), st.text())
def test_it_always_answers(source: str, text: str) -> None:
    assert quoted(source, text) in ("exact", "near", None)


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1), st.text(), st.text())
def test_words_that_stand_there_are_found(words: str, before: str, after: str) -> None:
    assert quoted(words, f"{before} {words} {after}") in ("exact", "near") or not words.strip()


def test_line_breaks_that_are_escaped_once_too_often_are_line_breaks() -> None:
    assert quoted("Answer in one word.\\n- No full stop", "Answer in one word.\n- No full stop.") == "exact"
    assert quoted("see \\new", "see \\new files") == "exact"
