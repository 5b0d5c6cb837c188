"""Passages that a text has word for word from another one."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from promptpex.codecs.text.comparing import FIRST_WORDS, LAST_WORDS, MARK, SHORTEST, without_passages

TAGS = [f"T{number}: Tag number {number}" for number in range(12)]
SOURCE = f"Return one tag of the list. Here it is: {', '.join(TAGS)}\n\nElse return Unknown."


def test_a_list_of_the_source_is_cut_in_its_middle_whatever_is_between_its_words() -> None:
    rule = f"If no tag fits, the output is Unknown: {'; '.join(TAGS)}. Nothing else stands there."

    short = f"T0: Tag number 0; T1: Tag {MARK} Tag number 11"
    assert without_passages(rule, SOURCE) == (
        f"If no tag fits, the output is Unknown: {short}. Nothing else stands there."
    )


def test_each_passage_is_cut_for_itself() -> None:
    listed = "; ".join(TAGS)
    assert without_passages(f"One: {listed}. Two: {listed}.", SOURCE).count(MARK) == 2


def test_what_is_short_or_in_other_words_stays() -> None:
    for text in ("Return one tag of the list.", "; ".join(reversed(TAGS)), "", "one two three " * 40):
        assert without_passages(text, SOURCE) == text


def test_a_source_that_repeats_itself_takes_no_time() -> None:
    assert without_passages("a b " * 20_000, "a b " * 20_000).count(MARK) == 1
    assert without_passages("a " * 40_000, "a " * 20 + "b " + "a " * 20_000).count(MARK) >= 1


@given(st.lists(st.sampled_from("abcdefgh"), max_size=80), st.lists(st.sampled_from("abcdefgh"), max_size=200))
def test_nothing_but_words_of_the_source_goes(mine: list[str], theirs: list[str]) -> None:
    text, source = " ".join(mine), " ".join(theirs)
    pieces = without_passages(text, source).split(f" {MARK} ")
    at = 0
    for before, after in itertools.pairwise(pieces):
        start = at + len(before.split())
        left_out = next(n for n in range(1, len(mine)) if " ".join(mine[start + n :]).startswith(after))
        assert left_out >= SHORTEST - FIRST_WORDS - LAST_WORDS
        at = start + left_out
    assert len(pieces) > 1 or pieces == [text]
