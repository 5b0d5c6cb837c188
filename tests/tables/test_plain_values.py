"""A table as Python's own values: the same of every dtype, missing ones replaced."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from promptpex.tables import Table, plain_values, records


def test_records_are_plain_and_know_what_is_missing() -> None:
    kinds = {"text": "string", "count": "Int64", "share": "Float64", "flag": "boolean"}
    frame = Table.of([{"text": "a", "count": 2, "share": 0.5, "flag": True}, {}], kinds)
    first, second = records(frame)
    assert first == {"text": "a", "count": 2, "share": 0.5, "flag": True}
    assert [type(value) for value in first.values()] == [str, int, float, bool]
    assert second == dict.fromkeys(kinds)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pd.Series([1, 2]), [1, 2]),
        (pd.Series([0.5, float("nan")]), [0.5, None]),
        (pd.Series([True, False]), [True, False]),
        (pd.Series([np.int64(3), "x", None], dtype=object), [3, "x", None]),
        (pd.Series([[1], pd.NA], dtype=object), [[1], None]),
        (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
    ],
    ids=["integers", "floats", "flags", "objects", "lists", "categories"],
)
def test_values_of_any_dtype_can_be_written_as_json(column: pd.Series, values: list[object]) -> None:
    plain = plain_values(column)
    assert plain == values
    assert json.loads(json.dumps(plain)) == values


def test_a_table_without_rows_has_no_records() -> None:
    assert records(Table.of([], {"text": "string"})) == []


def test_another_value_may_stand_for_what_is_missing() -> None:
    assert plain_values(pd.Series(["a", None], dtype="string"), missing="") == ["a", ""]
