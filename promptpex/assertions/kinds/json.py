"""The kinds ``is-json`` and ``contains-json``; and values inside of a JSON output, by a path: ``reply``,
``customer.name``, ``items[0].sku``, ``items[].sku`` for all.

A check with a ``path`` looks at these values alone, each of which has to pass; where the output holds no JSON with such
a value, it cannot look, and is unscored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from promptpex.assertions.javascript import js_values
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.assertions.time_limits import in_time
from promptpex.codecs.text.wording import beginning, quoted_json
from promptpex.core.errors import CheckError
from promptpex.core.records import NO_VALUE
from promptpex.core.translation import stored

if TYPE_CHECKING:
    from promptpex.assertions.kinds.json_schema import Schema


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


class LazySchema:
    """A schema that is compiled when there is JSON to hold against it, as promptfoo does."""

    def __init__(self, assertion: Assertion, value: object) -> None:
        self._assertion = assertion
        self._value = value

    def problem(self, value: object) -> str | None:
        return self.schema.problem(value)

    @cached_property
    def schema(self) -> Schema:
        """The schema, compiled.

        Raises:
            Unscorable: ``bad-value`` where it is not a schema, ``bad-schema`` where it does not compile.
        """
        from promptpex.assertions.kinds import json_schema

        return json_schema.compiled(_object(self._assertion, self._value), self._assertion.exact)


def _schema(assertion: Assertion, value: object) -> LazySchema | None:
    """The schema, or None where none is asked for: no value, null, or a template that comes out empty."""
    if value is MISSING or value is None or (value == "" and assertion.value != ""):
        return None
    return LazySchema(assertion, value)


def _object(assertion: Assertion, value: object) -> Mapping[str, object]:
    if isinstance(value, str):
        value = _json_or_yaml(value, f"the schema of {assertion.kind}")
    if not isinstance(value, Mapping):
        raise Unscorable("bad-value", f"the schema of {assertion.kind} must be an object, or a text that holds one")
    return value


def _json_or_yaml(source: str, what: str) -> object:
    """The data that a text holds as JSON or YAML 1.2.

    Raises:
        Unscorable: code ``bad-value``: it is neither, nests too deep or grows too large.
    """
    try:
        return js_values.strict_json(source)
    except js_values.NotJson:
        pass
    from promptpex.documents import yaml_reader

    try:
        return yaml_reader.load(source, error=CheckError, what=what).data
    except CheckError as error:
        raise Unscorable("bad-value", error.message) from error


def _verify(assertion: Assertion, schema: LazySchema | None) -> None:
    if schema is not None:
        _ = schema.schema


def _is_json(assertion: Assertion, schema: LazySchema | None, checked: CheckedOutput) -> KindResult:
    try:
        value = js_values.strict_json(checked.text)
    except js_values.NotJson as error:
        from promptpex.assertions.kinds import text

        return KindResult(False, text.what_is_there(checked.text, error))
    problem = schema.problem(value) if schema is not None else None
    if problem is not None:
        return KindResult(False, problem)
    return KindResult(
        True, stored("the output is JSON") if schema is None else stored("the output is JSON and follows the schema")
    )


def _contains_json(assertion: Assertion, schema: LazySchema | None, checked: CheckedOutput) -> KindResult:
    from promptpex.assertions.javascript import js_values

    first_problem = None
    for value in js_values.candidates(checked.output):
        problem = schema.problem(value) if schema is not None else None
        if problem is None:
            followed = stored("the output holds JSON that follows the schema")
            return KindResult(True, stored("the output holds JSON") if schema is None else followed)
        first_problem = first_problem or problem
    none = stored("the output holds no JSON object or list: {excerpt}", excerpt=beginning(checked.text))
    return KindResult(False, first_problem or none)


KINDS = (
    Kind("is-json", _schema, _is_json, verify=_verify, renders_inside=False),
    Kind("contains-json", _schema, _contains_json, verify=_verify, renders_inside=False),
)
