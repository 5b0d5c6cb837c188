"""The models that an answer names, so that each name leads to the model's outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

SHORTEST = 2
"""Characters of a name that is looked for: a single letter is a word of most languages."""


def in_answer(answer: str, names: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """The answer in parts, each with the model that it names, if it is the first to name it.

    A name is whole words, and of two that begin alike it is the longer one.
    """
    known = sorted((name for name in names if len(name) >= SHORTEST), key=len, reverse=True)
    if not known:
        yield answer, None
        return
    end, named = 0, set[str]()
    for match in re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)", answer):
        if match[0] in named:
            continue
        named.add(match[0])
        yield answer[end : match.start()], None
        yield match[0], match[0]
        end = match.end()
    yield answer[end:], None
