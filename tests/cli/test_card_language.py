"""The report card in a terminal has no English sentence left in another language."""

from __future__ import annotations

from promptpex.cli.commands.align import card_lines
from promptpex.core.translation import reading_in
from tests.alignment.test_card import grades, made
from tests.marked_language import Marked, data_of, unmarked

LACKING = "short “Planted words.”: a person refused all candidates."
CARD = made(
    [*grades(list("gbgugbgbgg"), "ann"), *grades(list("gbbggbgb--"), "bob")], list("pfpfpfpfpf"), list("pfpfpfpfpp")
)


def test_every_text_of_a_report_card_is_of_the_catalogue() -> None:
    card = CARD.replace(lacking=(LACKING,))
    known = {text for text in data_of(card) if Marked().stored(text) == text} | {"short", "Planted words."}
    known |= {"kappa", "FFR", "MCC", "gpt", "promptpex grade"}
    known.discard(LACKING)
    with reading_in(Marked()):
        lines = card_lines(card)
    assert "⟦" in "".join(lines)
    assert unmarked(" ".join(" ".join(lines).split()), known) == ""
