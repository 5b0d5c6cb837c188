"""Texts as they are compared: letters composed, and without what seldom matters, in time linear in their length."""

from __future__ import annotations

from promptpex.core.normal_forms import normal_form

MAX_PAIRS = 8
"""Pairs of quotation marks around a text that are taken off at most."""

_PAIRS = {
    '"': '"', "'": "'", "`": "`", "*": "*", "_": "_", "“": "”", "‘": "’", "«": "»", "»": "«", "„": "“", "‚": "‘",
    "‹": "›", "「": "」", "『": "』", "〈": "〉", "《": "》",
}  # fmt: skip
_ENDS = ".,;:!?…。、，！？।"


def normalised(text: str) -> str:
    """A text without what seldom matters: case, the width of white space, quotation marks around it, punctuation that
    ends a sentence. What would leave nothing is left as it stands."""
    bare = " ".join(normal_form("NFC", text).split())
    for _ in range(MAX_PAIRS):
        stripped = bare.rstrip(_ENDS).rstrip()
        if len(stripped) > 1 and _PAIRS.get(stripped[0]) == stripped[-1]:
            stripped = stripped[1:-1].strip()
        if stripped in ("", bare):
            break
        bare = stripped
    return bare.casefold()
