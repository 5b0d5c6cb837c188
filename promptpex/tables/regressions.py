"""A run against the counts of a baseline: which models are shown to break their rules more often by over a margin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptpex.core.records import Blessed, CaseCounts
from promptpex.stats import (
    Interval,
    Reading,
    difference_of_intervals,
    holm,
    regression_p,
    repeat_correlation,
    statements,
    unpaired_regression_p,
)
from promptpex.stats.outcome_grid import Completion
from promptpex.tables.compare_runs import AFTER, BEFORE, WHEN, counts_of_both, figures_of_both, name_in_both
from promptpex.tables.counts_per_case import BROKEN, KEPT, LOST, OPEN, Counted, Weights, counted, kinds_of_outputs
from promptpex.tables.frames import typed
from promptpex.tables.proportions import estimated
from promptpex.tables.rankings import missing_in_words

if TYPE_CHECKING:
    import pandas as pd

REGRESSION_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "paired": "boolean",
    "cases_before": "Int64",
    "cases_after": "Int64",
    "non_compliance_before": "Float64",
    "non_compliance_after": "Float64",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "p_adjusted": "Float64",
    "regression": "string",
    "undecided_because": "string",
}
"""Columns of ``regressions``. ``paired``: compared case by case, on the cases that are the same; else all cases of
either as independent samples. Shares and ``difference`` (after minus before, with its interval) are of what was scored.
``p`` is one-sided, against "at most the margin more often", at the completion of the unscored outputs that speaks most
against a regression, and ``p_adjusted`` is corrected over the models by Holm. ``regression`` is ``shown``, ``open``
where it would be shown if the unscored outputs spoke for it (``undecided_because`` counts them), ``not shown``, or
``nothing scored``."""

_UNANSWERED = "unanswered"
_READINGS: Mapping[Reading, tuple[Completion, Completion]] = {"against": ("best", "worst"), "for": ("worst", "best")}
"""How open outputs of after and before are read where the cases are not the same."""


def counts_of_cases(rows: pd.DataFrame, cases: Sequence[str], models: Sequence[str]) -> dict[str, list[CaseCounts]]:
    """For each case, what came of it with each of the models, from a table of outputs; unasked outputs count for
    nothing."""
    kind, names = kinds_of_outputs(rows), {"broken": BROKEN, "kept": KEPT, "unjudged": OPEN, "failed": LOST}
    numbers: dict[tuple[str, str], dict[str, int]] = {(case, model): {} for case in cases for model in models}
    for name, wanted in names.items():
        marked_rows = rows[kind == wanted]
        sizes = Counter(zip(map(str, marked_rows["case"]), map(str, marked_rows["model"]), strict=True))
        for cell, count in sizes.items():
            if cell in numbers:
                numbers[cell][name] = count
    return {case: [CaseCounts(**numbers[case, model]) for model in models] for case in cases}


def blessed_outputs(blessed: Blessed) -> pd.DataFrame:
    """What was blessed as a table of outputs with the columns that counts are made of."""
    rows: list[dict[str, Any]] = []
    for case in blessed.cases:
        for model, counts in zip(blessed.models, case.counts, strict=True):
            cell = {"case": case.id, "model": model, "rule": case.rule, "inverse": case.inverse}
            rows += [{**cell, "verdict": "fail"}] * counts.broken + [{**cell, "verdict": "pass"}] * counts.kept
            rows += [{**cell, "verdict": "unscored"}] * counts.unjudged
            rows += [{**cell, "verdict": "unscored", "error": _UNANSWERED}] * counts.failed
    return typed(rows, dict.fromkeys(("case", "model", "rule", "verdict", "error"), "string") | {"inverse": "boolean"})


def regressions(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    models: Sequence[tuple[str, str]],
    cases: Sequence[str] | None,
    margin: float,
    confidence: float = 0.95,
    weights: Weights | None = None,
) -> pd.DataFrame:
    """A row per model, from the tables of outputs of the baseline and of the run; columns ``REGRESSION_COLUMNS``.

    Args:
        before, after: tables of outputs.
        models: each model's name in the baseline and in the run.
        cases: the ids of the cases that are the same in both, on which they are compared case by case; None: they are
            compared as samples of different cases.
        margin: the rise that is accepted, as a share.
        confidence: its complement is the error rate over all models together.
        weights: how many times each case counts.
    """
    alpha = round(1.0 - confidence, 12)
    all_regressions = [
        _Unpaired(before, after, names, weights) if cases is None else _Paired(before, after, names, cases, weights)
        for names in models
    ]
    adjusted = {how: holm([one.p(margin, how) for one in all_regressions]) for how in _READINGS}
    rows = []
    for number, (names, one) in enumerate(zip(models, all_regressions, strict=True)):
        is_significant, possible = (adjusted[how][number] <= alpha for how in ("against", "for"))
        state = "shown" if is_significant else "open" if possible else "not shown"
        rows.append(
            {
                "model": name_in_both(*names),
                **one.cells(confidence),
                "p": one.p(margin, "against"),
                "p_adjusted": adjusted["against"][number],
                "regression": state if one.scored else "nothing scored",
                "undecided_because": one.missing() if state == "open" else None,
            }
        )
    return typed(rows, REGRESSION_COLUMNS)


class _Paired:
    """A model of both on the cases that are the same."""

    def __init__(
        self,
        before: pd.DataFrame,
        after: pd.DataFrame,
        names: tuple[str, str],
        cases: Sequence[str],
        weights: Weights | None,
    ) -> None:
        self._counts = counts_of_both(before, after, names, cases, weights)
        self._grid = self._counts.asked
        self.scored = bool(self._grid.scored(BEFORE) and self._grid.scored(AFTER))

    def p(self, margin: float, reading: Reading) -> float:
        paired = statements(self._grid, AFTER, BEFORE, reading=reading).worse
        open_ = self._grid.missing(BEFORE) or self._grid.missing(AFTER)
        return regression_p(replace(paired, surer=False) if open_ else paired, margin)

    def cells(self, confidence: float) -> dict[str, Any]:
        figures = figures_of_both(self._counts, confidence)
        both = {"paired": True, "cases_before": figures["cases"], "cases_after": figures["cases"]}
        return {**both, **{name: value for name, value in figures.items() if name in REGRESSION_COLUMNS}}

    def missing(self) -> str | None:
        return missing_in_words(self._grid, WHEN)


class _Unpaired:
    """A model of both on different cases."""

    def __init__(
        self, before: pd.DataFrame, after: pd.DataFrame, names: tuple[str, str], weights: Weights | None
    ) -> None:
        self._sides = [
            counted(rows[rows["model"].isin([name])].assign(model="model"), ("model",), weights=weights)
            for rows, name in zip((before, after), names, strict=True)
        ]
        self.scored = all(side.asked.scored(0) for side in self._sides)

    def p(self, margin: float, reading: Reading) -> float:
        before, after = (side.asked for side in self._sides)
        return unpaired_regression_p(after, before, 0, margin, _READINGS[reading])

    def cells(self, confidence: float) -> dict[str, Any]:
        before, after = (_estimated(side, confidence) for side in self._sides)
        gap = difference_of_intervals(after, before)
        sizes = [int((side.asked.asked[0] > 0).sum()) for side in self._sides]
        return {
            "paired": False,
            "cases_before": sizes[BEFORE],
            "cases_after": sizes[AFTER],
            "non_compliance_before": before.estimate,
            "non_compliance_after": after.estimate,
            "difference": gap.estimate,
            "difference_low": gap.low,
            "difference_high": gap.high,
        }

    def missing(self) -> str | None:
        grids = [side.asked for side in self._sides]
        parts = (missing_in_words(grid, [(0, what)]) for grid, (_, what) in zip(grids, WHEN, strict=True))
        return "; ".join(filter(None, parts)) or None


def _estimated(counts: Counted, confidence: float) -> Interval:
    grid = counts.usable
    return estimated(grid, 0, repeat_correlation(grid, "best"), confidence)
