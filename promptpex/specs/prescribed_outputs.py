"""Outputs that a prompt itself prescribes for special cases: ``If no tag fits, return Unknown.``

Found by their form in English sentences with a condition: an order to answer, then a text in quotation marks, a JSON
list, or one capitalised word, with which the sentence or clause ends.
"""

from __future__ import annotations

import re

from promptpex.core.sentences import sentences

MAX_VALUES = 10
"""Outputs that are looked at."""
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|where|unless|otherwise|else|in case|for (?:any|all)|cannot|can't|unable)\b", re.I
)
_ORDER = r"\b(?:return|respond|reply|answer|output|print|give|write|say|response)s?\b"
_BETWEEN = (
    r"(?:\s+(?:with|back|only|just|exactly|the|a|an|is|should|must|be|empty|single|"
    r"word|words|text|string|value|literal|sentence|array|list))*"
)
_QUOTED = (('"', '"'), ("“", "”"), ("‘", "’"), ("'", "'"), ("`", "`"), ("«", "»"))
_TEXT = "|".join(
    rf"{re.escape(left)}(?P<q{n}>[^{left}{right}\n]{{1,200}}){right}" for n, (left, right) in enumerate(_QUOTED)
)
_END = r"(?=\s*(?:instead|only|alone|exactly|and nothing else)?\s*(?:[.,;:!)]|\n|$))"
_PRESCRIBED = re.compile(
    rf"(?i:{_ORDER}{_BETWEEN})\s*:?\s+(?:{_TEXT}|(?P<json>\[[^\[\]\n]{{0,200}}\])|(?P<word>[A-Z][A-Za-z0-9_]*)){_END}"
)


def prescribed_outputs(prompt: str) -> tuple[str, ...]:
    """The outputs that the text of a prompt prescribes, in order, each once; at most ``MAX_VALUES``."""
    values: list[str] = []
    for sentence in sentences(prompt.replace('\\"', '"')):
        if _CONDITION.search(sentence):
            values += [_value(match) for match in _PRESCRIBED.finditer(sentence)]
    return tuple(dict.fromkeys(values))[:MAX_VALUES]


def _value(match: re.Match[str]) -> str:
    return next(text for text in match.groups() if text is not None)
