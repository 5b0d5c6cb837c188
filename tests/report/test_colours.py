"""The colour of a word is that of what it says, in whatever language it is shown."""

from __future__ import annotations

import pytest

from promptpex.core.translation import from_data, languages, reading_in
from promptpex.report.colours import BAD, GOOD, OPEN, PLAIN, of_word

COLOURS = {"best": GOOD, "better": GOOD, "worse": BAD, "newly failing": BAD, "undecided": OPEN, "reference": PLAIN}


@pytest.mark.parametrize("language", languages())
def test_a_word_has_its_colour_in_every_language(language: str) -> None:
    with reading_in(language):
        assert {word: of_word(from_data(word)) for word in COLOURS} == COLOURS
        assert of_word(f"{from_data('worse')}*") == BAD
        assert of_word("as you like") == PLAIN


def test_words_of_another_language_are_only_words() -> None:
    with reading_in("vi"):
        worse = from_data("worse")
    assert (worse == "worse", of_word(worse)) == (False, PLAIN)
