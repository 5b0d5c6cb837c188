"""Why an output is not JSON, in words that say what is there: text around it, a fence, an end that is missing."""

from __future__ import annotations

import re

from promptpex.assertions.javascript.js_values import NotJson, raw_json
from promptpex.assertions.kinds import json_search
from promptpex.codecs.text.wording import around, beginning
from promptpex.core.translation import stored

_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\r?\n\s*")
_OPENING = re.compile(r"[{\[]")
_UNENDED = "Unterminated string"
_PROBLEMS = {
    "Expecting property name": stored("broken JSON: a name in double quotes is missing before {excerpt}"),
    "Expecting value": stored("broken JSON: a value is missing before {excerpt}"),
    "Expecting ',' delimiter": stored("broken JSON: a comma is missing before {excerpt}"),
    "Expecting ':' delimiter": stored("broken JSON: a colon is missing before {excerpt}"),
    "Illegal trailing comma": stored("broken JSON: there is a comma too many: {excerpt}"),
    "Invalid control character": stored("broken JSON: a line break or the like is not escaped: {excerpt}"),
    "Invalid \\": stored("broken JSON: a backslash that JSON does not know: {excerpt}"),
}
"""What Python's reader says, by its beginning, and what it means of the text that follows."""


def what_is_there(text: str, error: NotJson) -> str:
    """The reason of a check that wants JSON and got this text, which ``error`` says is none."""
    if str(error).endswith("is not JSON"):
        return str(error)
    return _around_json(text) or _broken_json(text) or stored("not JSON: {excerpt}", excerpt=beginning(text))


def _around_json(text: str) -> str | None:
    """What stands around the JSON that a text holds; None where it holds none."""
    place = json_search.first_place(text)
    if place is None:
        return None
    before, after = text[: place[0]].strip(), text[place[1] :].strip()
    if before.startswith("```") and after == "```":
        return stored("the JSON is in a code fence")
    if before:
        return stored("text before the JSON: {excerpt}", excerpt=beginning(before))
    return stored("text after the JSON: {excerpt}", excerpt=beginning(after))


def _broken_json(text: str) -> str | None:
    """Where a text that begins as an object or list stops being one; None where it does not begin so."""
    fence = _FENCE.match(text)
    start = _OPENING.search(text, fence.end() if fence else 0)
    if start is None or text[fence.end() if fence else 0 : start.start()].strip():
        return None
    try:
        raw_json(text, start.start())
    except NotJson as error:
        return _stopped(text, error)
    return None


def _stopped(text: str, error: NotJson) -> str:
    """What is wrong at the place where reading stopped."""
    end = len(text.rstrip().removesuffix("```").rstrip())
    if error.at >= end or str(error).startswith(_UNENDED):
        return stored("the JSON is cut off after {excerpt}", excerpt=around(text, max(0, end - 1), end))
    other = stored("broken JSON: {reason} at {excerpt}")
    problem = next((words for start, words in _PROBLEMS.items() if str(error).startswith(start)), other)
    return problem.format(reason=error, excerpt=beginning(text[error.at :]))
