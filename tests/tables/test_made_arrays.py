"""Columns of plain values are made as pandas makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_extension_array_equal

from promptpex.tables.frames import dtypes, made_array

NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = {"string": st.text(max_size=3), "Int64": NUMBERS, "Float64": NUMBERS | st.floats(), "boolean": st.booleans()}
COLUMNS = st.sampled_from([*VALUES]).flatmap(
    lambda kind: st.tuples(st.just(kind), st.lists(st.none() | VALUES[kind], max_size=5))
)


def of_pandas(values: Any, kind: str) -> Any:
    return pd.array(values, dtypes({"column": kind})["column"])


@given(COLUMNS)
def test_a_column_of_plain_values_is_what_pandas_makes_of_it(column: tuple[str, list[Any]]) -> None:
    kind, values = column
    made = made_array(values, kind)
    assert_extension_array_equal(made, of_pandas(values, kind), check_exact=True)
    assert made.isna().tolist() == [value is None or value != value for value in values]


ODD: list[tuple[str, Any]] = [
    ("Int64", np.array([1, 2])),
    ("Int64", [np.int64(1), None]),
    ("Int64", [1.0, pd.NA]),
    ("Float64", [np.float64(1), float("nan")]),
    ("boolean", [np.bool_(True), pd.NA]),
    ("string", ["a", float("nan"), pd.NA]),
]


@pytest.mark.parametrize(("kind", "values"), ODD)
def test_any_other_is_left_to_pandas(kind: str, values: Any) -> None:
    assert_extension_array_equal(made_array(values, kind), of_pandas(values, kind), check_exact=True)


@pytest.mark.parametrize(("kind", "value"), [("Int64", 2**63), ("Float64", 10**400), ("Int64", "x"), ("boolean", 3)])
def test_what_has_no_place_is_the_same_error(kind: str, value: Any) -> None:
    with pytest.raises((OverflowError, TypeError, ValueError)) as of_theirs:
        of_pandas([value], kind)
    with pytest.raises(of_theirs.type):
        made_array([value], kind)
