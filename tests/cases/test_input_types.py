from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.cases.input_types import type_problems
from promptpex.core.records import VariableSpec

SCHEMA = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ("x", {}),
        (1.5, {"type": "number", "minimum": 1, "maximum": 2}),
        (2, {"type": "integer"}),
        (2.0, {"type": "integer"}),
        (False, {"type": "boolean"}),
        ("b", {"type": "enum", "values": ["a", "b"]}),
        ("2", {"type": "enum", "values": [1, 2]}),
        ({"id": 3}, {"type": "json", "schema": SCHEMA}),
        ("[1]", {"type": "json"}),
        ("abc", {"min_length": 3, "max_length": 3}),
    ],
)
def test_values_that_fit(value: Any, fields: dict[str, Any]) -> None:
    assert type_problems("v", value, VariableSpec.model_validate(fields)) == []


@pytest.mark.parametrize(
    ("value", "fields", "said"),
    [
        (3, {}, "v is 3, and not a text"),
        (True, {"type": "number"}, "v is true, and not of type number"),
        ("1", {"type": "integer"}, 'v is "1", and not of type integer'),
        (2.5, {"type": "integer"}, "v is 2.5, and not of type integer"),
        (3, {"type": "number", "maximum": 2}, "v is 3, more than 2"),
        (True, {"type": "enum", "values": [1]}, "v is true, which is none of the allowed values"),
        (
            {"id": "3"},
            {"type": "json", "schema": SCHEMA},
            'v is not as it should be: the JSON does not follow the schema at id: "\\"3\\"" is not of type integer',
        ),
        ("{", {"type": "json"}, 'v is "{", and not of type json'),
        ("ab", {"min_length": 3}, "v has 2 characters, fewer than 3"),
    ],
)
def test_values_that_do_not(value: Any, fields: dict[str, Any], said: str) -> None:
    assert type_problems("v", value, VariableSpec.model_validate(fields)) == [said]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(VALUES, st.sampled_from(["text", "number", "integer", "boolean", "enum", "json"]), VALUES)
@settings(max_examples=150, deadline=None)
def test_any_value_is_judged(value: Any, kind: str, other: Any) -> None:
    schema = {"const": other, "type": other} if other is not None else None
    fields = {"type": kind, "values": (other,), "minimum": 0, "max_length": 5, "schema": schema}
    assert all(said.startswith("v ") for said in type_problems("v", value, VariableSpec.model_validate(fields)))
