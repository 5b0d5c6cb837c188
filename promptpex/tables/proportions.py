"""Shares of outputs that break a rule, per group and model, and their differences, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptpex.stats import Completion, Grid, Interval, difference_interval, pair, share_interval
from promptpex.tables.counts_per_case import Cells, Counted, counted
from promptpex.tables.run_rows import Source
from promptpex.tables.table import Table

PROPORTION_COLUMNS: Mapping[str, str] = {
    "scored": "Int64",
    "broken": "Int64",
    "share": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "at_least": "boolean",
    "unscored": "Int64",
    "usable": "Int64",
    "interval": "string",
}
"""``share`` is the mean over the cases of the share of their scored outputs that break a rule. Where usable answers
have no verdict it is of all usable answers, a lower bound (``at_least``), and the interval's ends hold whatever the
verdicts would have been. ``interval`` is how it was made: ``exact`` (Clopper and Pearson), ``effective-size`` (the same
at the number of independent cases that repeats leave), or ``bounds``."""

CASE_TYPE_COLUMNS: Mapping[str, str] = {"model": "string", "case_type": "string", **PROPORTION_COLUMNS}
"""Columns of ``by_case_type``: ``case_type`` is ``rule``, ``inverse`` or ``no rule``: what the case aims at."""

SCENARIO_COLUMNS: Mapping[str, str] = {"model": "string", "scenario": "string", **PROPORTION_COLUMNS}
"""Columns of ``scenarios``; cases of no scenario stand under a missing name."""


def by_case_type(source: Source | Cells, *, confidence: float = 0.95) -> Table:
    """A row per model and type of case, from a table of outputs: rule cases against inverse cases."""
    cells = Cells.of(source)
    types = ["no rule" if case.aim is None else "inverse" if case.inverse else "rule" for case in cells.cases]
    return Table.of(grouped_proportions(cells, "case_type", types, confidence), CASE_TYPE_COLUMNS)


def scenarios(source: Source | Cells, *, confidence: float = 0.95) -> Table:
    """A row per model and scenario, from a table of outputs; none where no case has a scenario."""
    cells = Cells.of(source)
    names = [case.scenario for case in cells.cases]
    rows = grouped_proportions(cells, "scenario", names, confidence) if any(name is not None for name in names) else []
    return Table.of(rows, SCENARIO_COLUMNS)


def grouped_proportions(cells: Cells, by: str, groups: Sequence[str | None], confidence: float) -> list[dict[str, Any]]:
    """A row for each model and group of cases, as they first appear: ``model``, ``by`` and ``PROPORTION_COLUMNS``.

    Args:
        cells: the counts.
        by: what the groups are called.
        groups: of each case its group.
        confidence: of the intervals.
    """
    rows = []
    for name in dict.fromkeys(groups):
        part = cells.at([number for number, group in enumerate(groups) if group == name])
        grid = counted(part).usable
        for row, (model, size) in enumerate(part.sizes().items()):
            if size:
                figures = proportion_cells(grid, row, confidence)
                rows.append({"model": model, by: name, **figures, "unscored": size - figures["scored"]})
    return sorted(rows, key=lambda row: cells.models.index(row["model"]))


def proportion_cells(grid: Grid, model: int, confidence: float) -> dict[str, Any]:
    """``PROPORTION_COLUMNS`` but ``unscored`` for a model by its number, from the counts of its usable outputs."""
    cells: dict[str, Any] = {
        "scored": grid.scored(model),
        "broken": int(grid.broken[model].sum()),
        "usable": int(grid.asked[model].sum()),
    }
    if not cells["scored"]:
        return cells
    interval = estimated(grid, model, confidence)
    ends = {"ci_low": interval.low, "ci_high": interval.high, "interval": interval.method}
    return {**cells, "share": interval.estimate, "at_least": bool(grid.missing(model)), **ends}


def estimated(grid: Grid, model: int, confidence: float) -> Interval:
    """A model's share with its interval; where usable answers have no verdict, a lower bound and what that leaves open.

    Without a verdict on what passed its checks, only failures would be left among the scored, and a share of those
    would not be an estimate of anything.
    """

    def interval(completion: Completion) -> Interval:
        return share_interval(grid, model, confidence=confidence, completion=completion)

    if not grid.missing(model):
        return interval("seen")
    low, high = interval("best"), interval("worst")
    return replace(low, high=high.high, method="bounds")


def difference(counts: Counted, first: int, second: int, confidence: float) -> Interval | None:
    """The difference of two models by their numbers, on what was scored of both; None where there is nothing.

    Where usable answers of either have no verdict there is no estimate, and the interval is all that they leave open.
    """
    usable = counts.usable
    if not usable.missing(first) and not usable.missing(second):
        paired = pair(counts.asked, first, second)
        return difference_interval(paired, confidence) if paired.n else None
    least = difference_interval(pair(usable, first, second, ("best", "worst")), confidence)
    most = difference_interval(pair(usable, first, second, ("worst", "best")), confidence)
    return Interval(None, least.low, most.high, confidence, most.n, "bounds") if most.n else None
