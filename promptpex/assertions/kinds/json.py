"""The kinds ``is-json`` and ``contains-json``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from promptpex.assertions.javascript import js_values
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.codecs.text.wording import beginning
from promptpex.core.errors import CheckError
from promptpex.core.translation import stored

if TYPE_CHECKING:
    from promptpex.assertions.kinds.json_schema import Schema


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
