"""The kinds ``is-json`` and ``contains-json``."""

from __future__ import annotations

from typing import Any

from promptpex.assertions import jsvalues
from promptpex.assertions.jsvalues import MISSING
from promptpex.assertions.model import Assertion, Facts, Judged, Unscorable
from promptpex.assertions.registry import Kind


def _schema(assertion: Assertion, value: Any) -> Any:
    """The compiled schema, or None where none is asked for."""
    if value is MISSING or value is None:
        return None
    from promptpex.assertions import schemas

    return schemas.compiled(_read(assertion, value))


def _read(assertion: Assertion, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        from promptpex.assertions import yaml_text

        if not jsvalues.trim(value):
            raise Unscorable("bad-value", f"the schema of {assertion.kind} is an empty text; a variable may be missing")
        value = yaml_text.read(value, f"the schema of {assertion.kind}")
    if not isinstance(value, dict):
        raise Unscorable("bad-value", f"the schema of {assertion.kind} is an object, or a text that holds one")
    return value


def _is_json(assertion: Assertion, schema: Any, facts: Facts) -> Judged:
    try:
        found = jsvalues.strict_json(facts.text)
    except jsvalues.NotJson as error:
        return Judged(False, f"the output is not JSON: {error}")
    if schema is None:
        return Judged(True, "the output is JSON")
    problem = schema.problem(found)
    return Judged(problem is None, problem or "the output is JSON and follows the schema")


def _contains_json(assertion: Assertion, schema: Any, facts: Facts) -> Judged:
    from promptpex.assertions import json_search

    problem = None
    for found in json_search.values(facts.text):
        problem = schema.problem(found) if schema is not None else None
        if problem is None:
            return Judged(True, "the output holds JSON" + (" that follows the schema" if schema is not None else ""))
    return Judged(False, problem or "the output holds no JSON object or list")


KINDS = (
    Kind("is-json", _schema, _is_json),
    Kind("contains-json", _schema, _contains_json),
)
