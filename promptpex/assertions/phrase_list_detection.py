"""Exclusions that are implemented as lists of phrases: a known weakness of written checks (SPADE, arXiv 2401.03038).

"Do not apologise" is not kept by every output without the words "sorry" and "regret": what says the same in other words
slips by, and a right answer that quotes them is refused. Where the prompt itself names the phrases, such a check is
right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptpex.codecs.text.python_scan import literals

if TYPE_CHECKING:
    from promptpex.core.records import Check

_KINDS = ("contains", "icontains", "word-any", "word-all", "regex")
_FEWEST_IN_CODE = 2
_EXCLUDES = re.compile(r"\b(?:not|never|no|avoids?|without|refrains?|excludes?|free of)\b|n't\b", re.IGNORECASE)
_GROUPING = re.compile(r"\\[bB]|\(\?[a-zA-Z:!=<]*|[()^$]")


def is_exclusion(text: str) -> bool:
    """Whether a rule, in English, says what an output must not be or do."""
    return _EXCLUDES.search(text) is not None


def guessed_phrases(check: Check, stated: str) -> tuple[str, ...]:
    """The phrases that a check looks for and the prompt does not name.

    Args:
        stated: the words of the prompt, of the rule or of the criterion.
    """
    named = _folded(stated)
    return tuple(dict.fromkeys(phrase for phrase in _phrases(check) if _folded(phrase) not in named))


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def _phrases(check: Check) -> Iterator[str]:
    for part in check.asserts or ():
        yield from _phrases(part)
    kind, value = check.kind.removeprefix("not-"), check.value
    if kind == "python" and isinstance(value, str):
        spoken = [text for text in _texts_in(value) if " " in text and _is_wordy(text, 1.0)]
        yield from spoken if len(spoken) >= _FEWEST_IN_CODE else ()
    elif kind.startswith(_KINDS):
        for each in value if isinstance(value, list | tuple) else [value]:
            parts = each.split("|") if isinstance(each, str) and kind == "regex" else [each]
            texts = (_GROUPING.sub("", part).strip() for part in parts if isinstance(part, str))
            yield from (text for text in texts if _is_wordy(text, 0.8))


def _is_wordy(text: str, share: float) -> bool:
    """Whether this share of its signs, at least, are letters."""
    bare = text.replace(" ", "").replace("'", "").replace("’", "")
    return bool(bare) and sum(sign.isalpha() for sign in bare) >= len(bare) * share


def _texts_in(code: str) -> Iterator[str]:
    """What stands in plain quotes: documentation and formatted texts are not phrases."""
    for literal in literals(code):
        text, before = literal[0], code[literal.start() - 1 : literal.start()]
        if text[:1] in "'\"" and text[:3] not in ("'''", '"""') and not before.isalnum():
            yield text[1:-1]
