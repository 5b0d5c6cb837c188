"""Code for those published rules that code can decide, so that the recordings can be judged again without a judge.

Rule ids count the lines of the published ``rules.txt``; the checks are ours. Each is lenient where reading differs
(blanks around an answer, a single line break in a paragraph), so that what fails has broken the rule for certain.
"""

from __future__ import annotations

from typing import Any

from promptpex.core.records import Check

TAGS = (
    "CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN", "NNS", "NNP", "NNPS", "PDT", "POS",
    "PRP", r"PRP\$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "WDT", "WP",
    r"WP\$", "WRB",
)  # fmt: skip
"""The tags of the Penn Treebank (Marcus, Santorini and Marcinkiewicz 1993), as patterns."""

CATEGORIES = ("World", "Sports", "Business", "Sci/Tech")

_TAG_ALONE = Check(kind="regex", value=rf"^\s*(?:{'|'.join(TAGS)}|Unknown|CantAnswer)\s*$")
_CATEGORY_ALONE = Check(kind="regex", value=rf"^\s*(?:{'|'.join(CATEGORIES)})\s*$")
_SOME_CATEGORY = Check(kind="icontains-any", value=list(CATEGORIES))
_PLAIN_QUOTES = r"""/^\s*\[\s*\\"/.test(output) ? output.replaceAll('\\"', '"') : output"""
"""The prompt shows its array with backslashes before the quotes: an answer that copies them has done as it was told."""

_STRINGS = Check(
    kind="is-json",
    value={"type": "array", "items": {"type": "string"}, "minItems": 1},
    transform=_PLAIN_QUOTES,
)
_DISTINCT = Check(kind="is-json", value={"type": "array", "uniqueItems": True}, transform=_PLAIN_QUOTES)
_ARRAY_ALONE = Check(kind="regex", value=r"^\s*\[[\s\S]*\]\s*$")
_AT_MOST_80_WORDS = Check(kind="word-count", value={"max": 80})
_ONE_PARAGRAPH = Check(kind="not-regex", value=r"\S[^\S\n]*\n\s*\n\s*\S")
_LATIN_LETTERS = Check(
    kind="not-regex", value="[\u0370-\u03ff\u0400-\u04ff\u0590-\u06ff\u0900-\u0dff\u3040-\u9fff\uac00-\ud7af]"
)

_CHECKS: dict[str, tuple[int, dict[str, tuple[tuple[Check, ...], str]]]] = {
    "speech-tag": (7, {"r6": ((_TAG_ALONE,), "wholly")}),
    "classify-input-text": (4, {"r1": ((_SOME_CATEGORY,), "partly"), "r3": ((_CATEGORY_ALONE,), "wholly")}),
    "extract-names": (
        6,
        {"r1": ((_STRINGS,), "partly"), "r2": ((_DISTINCT,), "wholly"), "r4": ((_ARRAY_ALONE,), "partly")},
    ),
    "art-prompt": (7, {"r1": ((_AT_MOST_80_WORDS, _ONE_PARAGRAPH), "wholly"), "r7": ((_LATIN_LETTERS,), "partly")}),
}


def checks_for(benchmark: str, rules: int) -> dict[str, dict[str, Any]]:
    """The fields ``checks`` and ``decides`` of a benchmark's rules, by rule id; empty for a benchmark without any.

    Args:
        rules: how many rules it has; with another number than in ``evals/v7`` it is another extraction, and our
            checks do not belong to it.
    """
    count, by_rule = _CHECKS.get(benchmark, (0, {}))
    if count != rules:
        return {}
    return {rule_id: {"checks": checks, "decides": decides} for rule_id, (checks, decides) in by_rule.items()}
