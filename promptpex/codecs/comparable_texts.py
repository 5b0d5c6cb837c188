"""Texts as they are compared: letters composed, and without what seldom matters, in time linear in their length."""

from __future__ import annotations

import re
import unicodedata

MAX_PAIRS = 8
"""Pairs of quotation marks around a text that are taken off at most."""

MOST_MARKS = 30
"""Combining marks in a row that are put in order; no script writes more (UAX #15, stream-safe text)."""

_PAIRS = {
    '"': '"', "'": "'", "`": "`", "*": "*", "_": "_", "“": "”", "‘": "’", "«": "»", "»": "«", "„": "“", "‚": "‘",
    "‹": "›", "「": "」", "『": "』", "〈": "〉", "《": "》",
}  # fmt: skip
_ENDS = ".,;:!?…。、，！？।"
_LONG_RUN = re.compile(b"\x01{%d,}" % (MOST_MARKS + 1))


def composed(text: str) -> str:
    """The text in form NFC, but for runs of more than ``MOST_MARKS`` combining marks, which stay as they are.

    Sorting such a run takes time quadratic in its length: with 80,000 of them Python's own function takes 20 s.
    """
    if text.isascii():
        return text
    marks = bytes(map(bool, map(unicodedata.combining, text)))
    pieces, end = [], 0
    for run in _LONG_RUN.finditer(marks):
        pieces += [unicodedata.normalize("NFC", text[end : run.start()]), text[run.start() : run.end()]]
        end = run.end()
    return "".join([*pieces, unicodedata.normalize("NFC", text[end:])])


def normalised(text: str) -> str:
    """A text without what seldom matters: case, the width of white space, quotation marks around it, punctuation that
    ends a sentence. What would leave nothing is left as it stands."""
    bare = " ".join(composed(text).split())
    for _ in range(MAX_PAIRS):
        stripped = bare.rstrip(_ENDS).rstrip()
        if len(stripped) > 1 and _PAIRS.get(stripped[0]) == stripped[-1]:
            stripped = stripped[1:-1].strip()
        if stripped in ("", bare):
            break
        bare = stripped
    return bare.casefold()
