"""JSON in other text: every object or list that strict JSON reads, from left to right.

promptfoo reads braces as YAML instead, so that ``Hello {name}!`` counts as JSON there and ``{"a": "}"}`` does not;
the decision to differ is in ``docs/assertions.md``.

Replies to our own questions are read elsewhere (``codecs.model_json``), by another rule: there one answer is wanted,
repaired where it is broken, and two different ones are an error; here every value counts as it stands, nothing is
repaired, and numbers are read as JavaScript reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptpex.assertions.javascript import js_values

_OPEN = re.compile(r"\{(?=[ \t\n\r]*+[\"}])|\[(?=[ \t\n\r]*+[\"{\[\]\-0-9tfn])")
_ATTEMPT = 8
"""What an attempt counts on top of the characters it looks at."""
_STEPS = 2_000_000
"""Characters that failing attempts may look at in all, each attempt counted as ``_ATTEMPT`` more; hostile text of
nothing but ``[`` is given up then."""


def candidates(output: object) -> Iterator[object]:
    """What ``contains-json`` tries: objects and lists in a text, and the objects inside such a list.

    A structured output is not searched as text: an object is tried itself, a list for the objects it holds.
    """
    if isinstance(output, str):
        for value in in_text(output):
            yield value
            yield from _objects_in(value)
    elif isinstance(output, dict):
        yield output
    else:
        yield from _objects_in(output)


def _objects_in(value: object) -> Iterator[dict[str, object]]:
    """The outermost objects inside a list, however deep."""
    waiting = list(reversed(value)) if isinstance(value, list) else []
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def first_place(text: str) -> tuple[int, int] | None:
    """Where the first thing that looks like an object or list begins and ends; None where it is not JSON."""
    match = _OPEN.search(text)
    if match is None:
        return None
    try:
        return match.start(), js_values.raw_json(text, match.start())[1]
    except js_values.NotJson:
        return None


def in_text(text: str) -> Iterator[object]:
    """Objects and lists in ``text``; what stands inside one of them is not given again."""
    at, spent = 0, 0
    window = max(len(text) // 1024, 2048)
    while (match := _OPEN.search(text, at)) is not None and spent <= _STEPS:
        if match.start() > window:  # a failing attempt costs what stands before it: its line is counted from the start
            text, at = text[match.start() :], 0
            continue
        try:
            value, at = js_values.raw_json(text, match.start())
        except js_values.NotJson as error:
            at = match.start() + 1
            spent += error.at - match.start() + _ATTEMPT
            continue
        yield value
