"""Averages over benchmarks, and the paper's spec agreement."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from benchmarks.reproduce import averages
from benchmarks.reproduce import tables as result_tables
from promptpex.tables import Table


def contrast(benchmark: str, model: str, first: float | None, second: float | None, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"benchmark": benchmark, "model": model, "first": "generated", "second": "baseline"}
    for side, share in (("first", first), ("second", second)):
        n = 0 if share is None else 10
        row |= {f"{side}_n": n, f"{side}_share": share, f"{side}_low": 0.1, f"{side}_high": 0.9}
        row |= {f"{side}_broken": 0, f"{side}_unscored": 0, f"{side}_at_least": False}
    return {**row, "difference": None, "difference_low": -1.0, "difference_high": 1.0, "p": None, **more}


def contrasts(*rows: dict[str, Any]) -> pd.DataFrame:
    return Table.of(rows, result_tables.CONTRAST_COLUMNS).frame()


def test_each_benchmark_counts_once_and_only_those_with_both_sides() -> None:
    table = contrasts(
        contrast("a", "m", 0.2, 0.4),
        contrast("b", "m", 0.4, 0.0, first_low=0.3, first_at_least=True),
        contrast("c", "m", 1.0, None),
        contrast("a", "n", None, 0.5),
    )
    first, second = averages.averages({"table2": table}).to_dict("records")
    assert (first["model"], first["side"], first["benchmarks"]) == ("m", "generated", 2)
    assert (first["share"], first["low"], first["high"]) == pytest.approx((0.3, 0.2, 0.9))
    assert (first["at_least"], second["at_least"]) == (True, False)
    assert second["share"] == pytest.approx(0.2)


def test_all_models_are_averages_of_the_same_benchmarks() -> None:
    """A model that failed on the hard benchmark does not look better for it."""
    table = contrasts(
        contrast("easy", "m", 0.2, 0.2),
        contrast("hard", "m", 0.8, 0.8),
        contrast("easy", "n", 0.3, 0.3),
        contrast("hard", "n", None, 0.9),
        contrast("easy", "unscored", None, None),
    )
    rows = averages.averages({"table2": table}).to_dict("records")
    assert [(row["model"], row["benchmarks"], row["left_out"]) for row in rows] == [
        *[("m", 1, 1)] * 2,
        *[("n", 1, 1)] * 2,
    ]
    assert [row["share"] for row in rows] == pytest.approx([0.2, 0.2, 0.3, 0.3])
    apart = contrasts(contrast("easy", "m", 0.2, 0.2), contrast("hard", "n", 0.3, 0.3))
    assert averages.averages({"table2": apart}).empty


def test_spec_agreement_is_the_cosine_of_shares_over_benchmarks() -> None:
    rows = [
        {"benchmark": "a", "model": "m", "cases": 4, "prompt_share": 0.5, "spec_share": 0.5},
        {"benchmark": "b", "model": "m", "cases": 4, "prompt_share": 0.0, "spec_share": 0.5},
        {"benchmark": "a", "model": "n", "cases": 4, "prompt_share": 0.0, "spec_share": 0.5},
        {"benchmark": "b", "model": "n", "cases": 0, "prompt_share": None, "spec_share": None},
    ]
    table = Table.of(({name: row.get(name) for name in result_tables.AGREEMENT_COLUMNS} for row in rows),
                  result_tables.AGREEMENT_COLUMNS).frame()  # fmt: skip
    of_m, of_n, whole = averages.spec_agreement(table).to_dict("records")
    assert (of_m["benchmarks"], of_m["cosine"]) == (2, pytest.approx(2**-0.5))
    assert (of_n["benchmarks"], pd.isna(of_n["cosine"])) == (1, True)
    assert (pd.isna(whole["model"]), whole["cosine"]) == (True, pytest.approx(0.5 / (3**0.5 / 2)))
