"""A run against the counts of a baseline: which models are shown to break their rules more often by over a margin."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptpex.core.records import Blessed, CaseCounts
from promptpex.stats import Grid, Reading, cases_to_show, holm, pair, regression_p, sign_flip_p, statements
from promptpex.tables.compare_runs import (
    AFTER,
    BEFORE,
    WHEN,
    counts_of_both,
    figures_of_both,
    name_in_both,
    same_text_counts,
)
from promptpex.tables.counts_per_case import KINDS, CaseFacts, Cells, Counted, Weights
from promptpex.tables.database_sql import BROKEN, KEPT, LOST, OPEN
from promptpex.tables.rankings import missing_in_words
from promptpex.tables.run_rows import Source
from promptpex.tables.table import Table

REGRESSION_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "cases": "Int64",
    "same_texts": "Int64",
    "changed_same_texts": "Int64",
    "non_compliance_before": "Float64",
    "non_compliance_after": "Float64",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "p_adjusted": "Float64",
    "regression": "string",
    "undecided_because": "string",
    "cases_needed": "Int64",
}
"""Columns of ``regressions``. Shares and ``difference`` (after minus before, with its interval) are of what was scored
on the ``cases`` that are the same in both; ``same_texts`` and ``changed_same_texts`` are as in
``COMPARISON_COLUMNS``. ``p`` is one-sided, against "at most the margin more often", at the
completion of the unscored outputs that speaks most against a regression, and ``p_adjusted`` is corrected over the
models by Holm. ``regression`` is ``shown``; ``open`` where the scored outputs alone show it, or where clearly more, or
less, is unscored than before and could hide it (``undecided_because`` counts what is unscored); ``too few`` where so
few cases could show none (``cases_needed``: how many could); ``nothing scored``; else ``not shown``."""


def counts_of_cases(source: Source | Cells, cases: Sequence[str], models: Sequence[str]) -> dict[str, list[CaseCounts]]:
    """For each case, what came of it with each of the models, from a table of outputs; unasked outputs count for
    nothing."""
    cells = Cells.of(source)
    names = {"broken": BROKEN, "kept": KEPT, "unjudged": OPEN, "failed": LOST}

    def counts(case: str, model: str) -> CaseCounts:
        if case not in cells.places or model not in cells.models:
            return CaseCounts()
        own = cells.counts[cells.models.index(model), cells.places[case]].tolist()
        return CaseCounts(**{name: own[kind] for name, kind in names.items() if own[kind]})

    return {case: [counts(case, model) for model in models] for case in cases}


def blessed_outputs(blessed: Blessed) -> Cells:
    """What was blessed, as counts."""
    import numpy as np

    counts = np.zeros((len(blessed.models), len(blessed.cases), KINDS), dtype=np.int64)
    for number, case in enumerate(blessed.cases):
        for row, own in enumerate(case.counts):
            counts[row, number, [BROKEN, KEPT, OPEN, LOST]] = own.broken, own.kept, own.unjudged, own.failed
    return Cells(blessed.models, tuple(CaseFacts(case.id, case.rule, case.inverse) for case in blessed.cases), counts)


def regressions(
    before: Cells,
    after: Source | Cells,
    *,
    models: Sequence[tuple[str, str]],
    cases: Sequence[str],
    margin: float,
    confidence: float = 0.95,
    weights: Weights | None = None,
    same_texts: Sequence[Collection[str]] = (),
) -> Table:
    """A row per model, from the tables of outputs of the baseline and of the run; columns ``REGRESSION_COLUMNS``.

    Args:
        before: what was blessed (``blessed_outputs``).
        after: the run, or its table of outputs.
        models: each model's name in the baseline and in the run.
        cases: the ids of the cases that are the same in both.
        margin: the rise that is accepted, as a share.
        confidence: its complement is the error rate over all models together.
        weights: how many times each case counts.
        same_texts: for each model the cases whose answers are the same in both: they count as no difference.
    """
    alpha, texts, now = round(1.0 - confidence, 12), same_texts or [()] * len(models), Cells.of(after)
    both = [counts_of_both(before, now, names, cases, weights) for names in models]
    counts = [
        counts_of_both(before, now, names, cases, weights, same) for names, same in zip(models, texts, strict=True)
    ]
    adjusted = {how: holm([_p(one.asked, margin, how) for one in counts]) for how in _READINGS}
    needed = [cases_to_show(_common(one.asked), margin, alpha / len(models)) for one in counts]
    rows = []
    for number, (names, one) in enumerate(zip(models, counts, strict=True)):
        is_shown, as_seen, hidden = (adjusted[how][number] <= alpha for how in _READINGS)
        is_open = as_seen or (hidden and _missing_alike_p(one.asked) <= alpha)
        state = "shown" if is_shown else _unshown(one.asked, needed[number], is_open=is_open)
        rows.append(
            {
                "model": name_in_both(*names),
                **_figures(both[number], confidence),
                **same_text_counts(before, now, names, set(cases) & set(texts[number]), weights),
                "p": _p(one.asked, margin, "against"),
                "p_adjusted": adjusted["against"][number],
                "regression": state,
                "undecided_because": missing_in_words(one.asked, WHEN) if state == "open" else None,
                "cases_needed": needed[number] if state == "too few" else None,
            }
        )
    return Table.of(rows, REGRESSION_COLUMNS)


def _figures(counts: Counted, confidence: float) -> dict[str, Any]:
    return {name: value for name, value in figures_of_both(counts, confidence).items() if name in REGRESSION_COLUMNS}


_READINGS: tuple[Reading, Reading, Reading] = ("against", "seen", "for")


def _unshown(grid: Grid, needed: int, *, is_open: bool) -> str:
    """Why a rise is not shown."""
    if not (grid.scored(BEFORE) and grid.scored(AFTER)):
        return "nothing scored"
    if is_open:
        return "open"
    return "too few" if _common(grid) < needed else "not shown"


def _common(grid: Grid) -> int:
    """How many cases both were asked."""
    return pair(grid, AFTER, BEFORE, ("worst", "worst")).n


def _missing_alike_p(grid: Grid) -> float:
    """The p-value against "as much is unscored as before"."""
    scored = grid.broken + grid.kept
    return sign_flip_p(pair(Grid(grid.models, grid.open, scored, 0 * scored, grid.weights), AFTER, BEFORE).whole)


def _p(grid: Grid, margin: float, reading: Reading) -> float:
    paired = statements(grid, AFTER, BEFORE, reading=reading).worse
    open_ = grid.missing(BEFORE) or grid.missing(AFTER)
    return regression_p(replace(paired, surer=False) if open_ else paired, margin)
