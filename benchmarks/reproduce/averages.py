"""Averages over benchmarks, as PromptPex reports them (arXiv 2503.05070v1).

They are the last rows of its Tables 2 and 3, its Figures 9 and 10, and its spec agreement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from promptpex.tables import Table

if TYPE_CHECKING:
    import pandas as pd

AVERAGE_COLUMNS: Mapping[str, str] = {
    "table": "string",
    "model": "string",
    "side": "string",
    "benchmarks": "Int64",
    "left_out": "Int64",
    "share": "Float64",
    "low": "Float64",
    "high": "Float64",
    "at_least": "boolean",
}
"""A row per table, model and side of the table (``generated``, ``baseline``, ``rules``, ``inverse``). ``share``
is the mean of the benchmarks' shares, each benchmark counting once; ``low`` and ``high`` are the means of the ends of
their intervals: since errors of independent benchmarks partly cancel, an interval of at least their confidence, wider
than it had to be. ``benchmarks`` have a scored output of every model of the table on both sides; ``left_out`` have so
of some models only, and are in no average: all models and both sides are averages of the same ones. A model without any
such benchmark has no row and leaves none out, and where the models have none in common there is no average.
``at_least``: one of the shares is a lower bound, and so is the mean."""

SPEC_AGREEMENT_COLUMNS: Mapping[str, str] = {"model": "string", "benchmarks": "Int64", "cosine": "Float64"}
"""The paper's spec agreement (section 4.3.3): the cosine between the shares of broken outputs under the prompt and
under its spec, benchmark by benchmark, per model and for all models in one vector (``model`` missing). It is 1 also
where all shares of one side are a multiple of the other's, and has no value where one side has no broken output."""

Row = dict[str, object]


def averages(contrasts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The averages of tables with columns ``CONTRAST_COLUMNS``, by the tables' names; columns ``AVERAGE_COLUMNS``."""
    rows: list[Row] = []
    for name, table in contrasts.items():
        scored = table[table["first_n"].gt(0) & table["second_n"].gt(0)]
        of_models = [set(some["benchmark"]) for _, some in scored.groupby("model", sort=False)]
        common = set.intersection(*of_models) if of_models else set()
        left_out = len(set(scored["benchmark"]) - common)
        for model, rows_of_model in scored[scored["benchmark"].isin(list(common))].groupby("model", sort=False):
            rows += [_average(name, str(model), rows_of_model, side, left_out) for side in ("first", "second")]
    return Table.of(rows, AVERAGE_COLUMNS).frame()


def _average(name: str, model: str, rows: pd.DataFrame, side: str, left_out: int) -> Row:
    means = {column: float(rows[f"{side}_{column}"].mean()) for column in ("share", "low", "high")}
    return {
        "table": name,
        "model": model,
        "side": rows[side].iloc[0],
        "benchmarks": len(rows),
        "left_out": left_out,
        **means,
        "at_least": bool(rows[f"{side}_at_least"].any()),
    }


def spec_agreement(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's statistic from a table with columns ``AGREEMENT_COLUMNS``; columns ``SPEC_AGREEMENT_COLUMNS``."""
    scored = table[table["cases"].gt(0)]
    groups = [(str(model), rows) for model, rows in scored.groupby("model", sort=False)]
    whole = [(None, scored)] if len(groups) > 1 else []
    return Table.of((_agreement(model, rows) for model, rows in [*groups, *whole]), SPEC_AGREEMENT_COLUMNS).frame()


def _agreement(model: str | None, rows: pd.DataFrame) -> Row:
    return {
        "model": model,
        "benchmarks": int(rows["benchmark"].nunique()),
        "cosine": cosine(rows["prompt_share"].tolist(), rows["spec_share"].tolist()),
    }


def cosine(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The cosine between two vectors, None where one has no direction."""
    lengths = math.hypot(*first) * math.hypot(*second)
    return min(1.0, sum(a * b for a, b in zip(first, second, strict=True)) / lengths) if lengths else None
