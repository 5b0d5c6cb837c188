"""The published tables as frames, the paper's averages, and two of its sentences (arXiv 2503.05070v1, section 4).

Shares are the paper's: a lost verdict counts as non-compliant. Their intervals are exact (Clopper and Pearson).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from promptpex.paper import averages, result_tables
from promptpex.paper.averages import Row
from promptpex.paper.published.dataset import Benchmark
from promptpex.paper.published.measures import paper_percent
from promptpex.paper.result_tables import CONTRAST_COLUMNS, SHARE_COLUMNS
from promptpex.stats import clopper_pearson
from promptpex.tables.frames import typed

if TYPE_CHECKING:
    import pandas as pd

SIDES = {
    "table2": {"promptpex": "generated", "baseline": "baseline"},
    "table3": {"rules": "rules", "inverse": "inverse"},
}
"""The parts of the published tables, and what our own tables call them."""

TITLES = {"table2": "Table 2", "table3": "Table 3"}


def frames(tables: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """The published tables in the shape of our own: ``table2``, ``table3``, ``shares`` and ``averages``."""
    contrasts = {name: _contrast(tables[name], sides) for name, sides in SIDES.items()}
    rows = [
        _share(name, what, tables[table][name], counts)
        for table, what, counts in (
            ("validity", "generated cases valid", ("valid", "tests")),
            ("groundedness", "rules grounded", ("grounded", "rules")),
        )
        for name in tables[table]
    ]
    return {**contrasts, "shares": typed(rows, SHARE_COLUMNS), "averages": averages.averages(contrasts)}


def _contrast(cells: Mapping[str, Any], sides: Mapping[str, str]) -> pd.DataFrame:
    rows: list[Row] = []
    for benchmark, by_model in cells.items():
        for model, parts in by_model.items():
            row: Row = {"benchmark": benchmark, "model": model}
            for side, (part, name) in zip(("first", "second"), sides.items(), strict=True):
                row |= {f"{side}_{key}": value for key, value in _cell(parts[part]).items()} | {side: name}
            rows.append(row)
    return typed(({name: row.get(name) for name in CONTRAST_COLUMNS} for row in rows), CONTRAST_COLUMNS)


def _cell(cell: Mapping[str, int]) -> Row:
    interval = clopper_pearson(cell["non_compliant"], cell["n"])
    ends = {"share": interval.estimate, "low": interval.low, "high": interval.high}
    return {"broken": cell["non_compliant"], "n": cell["n"], "unscored": 0, "at_least": False, **ends}


def _share(name: str, what: str, counts: Mapping[str, int], keys: tuple[str, str]) -> dict[str, Any]:
    yes, n = (counts[key] for key in keys)
    return result_tables.share(name, what, [True] * yes + [False] * (n - yes))


def average_cells(rows: pd.DataFrame, tables: Mapping[str, Any]) -> dict[str, Any]:
    """The Average rows of Tables 2 and 3, in per cent, as JSON-ready data by table, model and part.

    ``percent`` is the mean of the shares, ``of_rounded`` that of the cells as the paper rounds them, which it averages.

    Args:
        rows: the frame ``averages``.
        tables: the published tables.
    """
    cells: dict[str, Any] = {}
    for row in rows.to_dict("records"):
        name, model = row["table"], row["model"]
        part = next(part for part, side in SIDES[name].items() if side == row["side"])
        models = rows.loc[rows["table"].eq(name), "model"].unique()
        rounded = [
            paper_percent(by_model[model][part]["non_compliant"], by_model[model][part]["n"])
            for by_model in tables[name].values()
            if all(one in by_model and by_model[one][side]["n"] for one in models for side in SIDES[name])
        ]
        average = {"percent": 100 * row["share"], "of_rounded": mean(one or 0 for one in rounded)}
        cells.setdefault(name, {}).setdefault(model, {})[part] = {**average, "benchmarks": row["benchmarks"]}
    return cells


def differs(average: Mapping[str, Any]) -> bool:
    """Whether the mean of the rounded cells is another whole number than that of the shares."""
    return f"{average['percent']:.0f}" != f"{average['of_rounded']:.0f}"


def differing(cells: Mapping[str, Any]) -> list[str]:
    """The averages that the paper gives otherwise, since it averages rounded cells; a sentence each."""
    return [
        f"{TITLES[table]}, average, {model}, {part}: the mean of the shares is {one['percent']:.2f}%; the paper "
        f"averages rounded cells, which gives {one['of_rounded']:.2f}%, so {one['of_rounded']:.0f}%"
        for table, by_model in cells.items()
        for model, parts in by_model.items()
        for part, one in parts.items()
        if differs(one)
    ]


def sentences(benchmarks: Sequence[Benchmark]) -> list[str]:
    """What the recordings say to two sentences of the paper: what can be counted again, and what cannot."""
    broken = [
        benchmark.validity.get(row.case) is True
        for benchmark in benchmarks
        for row in benchmark.results
        if not row.baseline and row.compliance != "ok"
    ]
    agreed = [answer for benchmark in benchmarks for answer in benchmark.agreement.values()]
    lines = []
    if broken:
        share = f"{sum(broken)} of {len(broken)}, {100 * sum(broken) / len(broken):.0f}%"
        lines.append(
            f"Non-compliant answers to generated tests whose test was judged valid: {share}, over the "
            f"{len(benchmarks)} benchmarks here; the paper says 73%."
        )
    if agreed:
        share = f"{sum(answer is True for answer in agreed)} of {len(agreed)}"
        lines.append(
            "Spec agreement: the paper's 96.8% compares models on the baseline's tests under the spec, and the "
            "recordings do not hold those answers, so it cannot be counted again. They do hold the author's own "
            f"answers to generated tests under the spec: {share} were judged to comply with the prompt."
        )
    return lines
