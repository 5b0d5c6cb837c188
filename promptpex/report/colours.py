"""The few colours of a terminal's report: what is good, what is bad, what is open.

They are those of the terminal's own palette, and no text relies on them alone: rich leaves them out where the output
is a pipe or a file, where the terminal has none, and where ``NO_COLOR`` is set.
"""

from __future__ import annotations

from promptpex.report.translated_values import in_english

GOOD = "green"
BAD = "red"
OPEN = "yellow"
PLAIN = ""

_OF_WORDS = {
    **dict.fromkeys(("best", "tied", "better", "fixed"), GOOD),
    **dict.fromkeys(("worse", "newly failing"), BAD),
    **dict.fromkeys(("undecided", "unscored"), OPEN),
}


def of_word(word: str) -> str:
    """The colour of a decision about a model, or of a change between two runs; with or without an asterisk."""
    return _OF_WORDS.get(in_english(word.rstrip("*")), PLAIN) if word else PLAIN
