"""Two texts word by word: both can be read out of the parts, and what is long and the same is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.report.comparison.word_differences import MOST_TEXT, TextPiece, word_differences

WORDS = st.lists(st.sampled_from(["Reply", "in", "JSON", " ", "\n", ",", "."]), max_size=12).map("".join)


@given(WORDS, WORDS)
def test_both_texts_can_be_read_out_of_the_parts(before: str, after: str) -> None:
    pieces = word_differences(before, after)
    for text, left_out in ((before, "new"), (after, "gone")):
        assert "".join(piece.text for piece in pieces if piece.kind != left_out) == text
    assert (before == after) == all(piece.kind == "both" for piece in pieces)


def test_a_change_of_several_words_is_one_change() -> None:
    pieces = word_differences("Reply in plain text.", "Reply as one JSON object.")
    assert [(piece.kind, piece.text) for piece in pieces] == [
        ("both", "Reply "),
        ("gone", "in plain text"),
        ("new", "as one JSON object"),
        ("both", "."),
    ]


def test_what_is_long_and_the_same_is_left_out_and_counted() -> None:
    same = "word " * 400
    pieces = word_differences(f"old {same}end", f"new {same}end of it")
    assert sum(piece.hidden for piece in pieces) + sum(len(p.text) for p in pieces if p.kind == "both") == len(same) + 4
    assert max(len(piece.text) for piece in pieces) <= 200
    assert word_differences(same, same) == (TextPiece("both", same),)


@pytest.mark.parametrize("hostile", ["a b " * 50_000, "\x00\u202e" * 30_000, "x" * 100_000, " " * 50_000])
def test_hostile_texts_are_bounded(hostile: str) -> None:
    pieces = word_differences(hostile, f"other {hostile[::-1]}")
    assert sum(len(piece.text) + piece.hidden for piece in pieces) <= 2 * MOST_TEXT
