"""Values inside of a JSON output, by a path: ``reply``, ``customer.name``, ``items[0].sku``, ``items[].sku`` for all.

A check with a ``path`` looks at these values alone, each of which has to pass; where the output holds no JSON with such
a value, it cannot look, and is unscored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, CheckedOutput, Unscorable
from promptpex.assertions.time_limits import in_time
from promptpex.codecs.text.wording import beginning, quoted_json
from promptpex.core.records import NO_VALUE
from promptpex.core.translation import stored

Steps = tuple[str | int | None, ...]
"""A key, an index, or None for all items of a list."""

_STEP = re.compile(r"\.?([^.\[\]\"'\s][^.\[\]\"']*)|\[(\d{0,6})\]|\[\"([^\"]+)\"\]")
_AS_JSON = frozenset(("is-json", "contains-json"))


@lru_cache(maxsize=1024)
def steps_of(path: str) -> Steps:
    """The steps of a path; a leading ``$`` stands for the whole and is left out.

    Raises:
        Unscorable: code ``bad-value``: it is not a path.
    """
    steps: list[str | int | None] = []
    at = 1 if path.startswith("$") else 0
    while at < len(path) and (match := _STEP.match(path, at)):
        key, index, quoted = match.groups()
        steps.append(key or quoted or (int(index) if index else None))
        at = match.end()
    if at < len(path) or not steps:
        raise Unscorable("bad-value", f"{quoted_json(path)} is not a path; write one such as reply or items[].sku")
    return tuple(steps)


def looked_at(assertion: Assertion, checked: CheckedOutput) -> list[CheckedOutput]:
    """The values that an assertion with a path looks at, each as an output of its own: as JSON for a schema, as they
    are for a script, as texts for all other kinds.

    Raises:
        Unscorable: ``no-value`` where there is no such value, or one that is not a text (null, a list, an object) for a
            kind that wants texts: what it should be is another rule's matter; ``bad-value`` where it is not a path.
    """
    assert assertion.path is not None
    steps = steps_of(assertion.path)
    for candidate in in_time(checked.json_values):
        values = _at(candidate, steps)
        if values is not None:
            return [checked.with_output(_as_output(assertion, value)) for value in in_time(values)]
    raise Unscorable(NO_VALUE, stored("the output holds no JSON with the value {path}", path=assertion.path[:80]))


def _as_output(assertion: Assertion, value: object) -> object:
    if assertion.base in _AS_JSON:
        return js_values.compact_json(value)
    if assertion.base == "javascript" or isinstance(value, str):
        return value
    if value is None or isinstance(value, list | dict):
        excerpt = beginning(js_values.compact_json(value))
        is_another = stored("the value {path} is not text: {excerpt}", path=assertion.path, excerpt=excerpt)
        raise Unscorable(NO_VALUE, is_another)
    return js_values.compact_json(value)


def _at(value: object, steps: Sequence[str | int | None]) -> list[object] | None:
    """The values at the end of the steps; None where a step leads nowhere."""
    values = [value]
    for step in steps:
        inner: list[object] = []
        for item in in_time(values):
            parts = _parts(item, step)
            if parts is None:
                return None
            inner += parts
        values = inner
    return values


def _parts(item: object, step: str | int | None) -> list[object] | None:
    """Where one step leads from a value; None where there is nothing."""
    if isinstance(step, str):
        return [item[step]] if isinstance(item, dict) and step in item else None
    if not isinstance(item, list):
        return None
    if step is None:
        return item
    return [item[step]] if step < len(item) else None
