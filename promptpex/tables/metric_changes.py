"""The owner's metrics of two runs side by side: which models are shown to do better or worse by which metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from promptpex.stats import holm, open_mean_interval, sign_flip_p
from promptpex.stats.intervals import score_bounds
from promptpex.stats.score_means import UNIT
from promptpex.stats.special import two_sided_z
from promptpex.tables.compare_runs import name_in_both
from promptpex.tables.counts_per_case import Weights, weights_of
from promptpex.tables.metrics import COUNTING, DIGITS, CaseMean, MetricCounts
from promptpex.tables.run_rows import Source
from promptpex.tables.table import Table

METRIC_CHANGE_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "metric": "string",
    "cases": "Int64",
    "mean_before": "Float64",
    "mean_after": "Float64",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "p_adjusted": "Float64",
    "decision": "string",
}
"""Columns of ``metric_changes``. The means are over the ``cases`` scored in both runs, of their means over repeats, and
``difference`` is the second minus the first: above 0 is better. Its interval (``open_mean_interval``) holds whatever
the missing scores of the cases asked in both are, and the difference itself. ``p`` is that of exact sign flips of the
differences of the cases, at the completion of the missing scores that speaks most against a change, ``p_adjusted``
corrected over models and metrics by Holm, and ``change`` is ``better`` or ``worse`` where it is shown, else
``undecided``."""


class _CaseInBoth(NamedTuple):
    """What the mean of a case is in both runs, and how many times the case counts."""

    old: CaseMean
    new: CaseMean
    times: int


def metric_changes(
    before: Source | MetricCounts,
    after: Source | MetricCounts,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float = 0.95,
    weights: Weights | None = None,
    same_texts: Sequence[Collection[str]] = (),
) -> Table:
    """A row per model and metric that both runs have, from their scores; ``METRIC_CHANGE_COLUMNS``.

    Args:
        before, after: tables of scores, or their counts.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
        confidence: of the intervals; its complement is the error rate over all models and metrics together.
        weights: how many times each case counts.
        same_texts: for each model the cases whose answers are the same in both runs: they decide nothing.
    """
    rows: list[dict[str, Any]] = []
    sides, inside = (MetricCounts.of(before), MetricCounts.of(after)), set(cases)
    for name in (name for name in sides[1].names if name in sides[0].names):
        for at, (was, now) in enumerate(models):
            same = _pairs(sides, name, (was, now), inside, weights or {})
            texts = same_texts[at] if same_texts else ()
            changed = [pair for pair in same if pair.new.case.id not in texts]
            figures = _figures(same, confidence) | dict(zip(("decision", "p"), _change(changed), strict=True))
            rows.append({"model": name_in_both(was, now), "metric": name, **figures})
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        is_significant = p <= round(1.0 - confidence, 12)
        row |= {"p_adjusted": p, "decision": row["decision"] if is_significant else "undecided"}
        row |= {} if row["cases"] else {"p": None, "p_adjusted": None}
        row |= _without_contradiction(row)
    return Table.of(rows, METRIC_CHANGE_COLUMNS)


def _without_contradiction(row: dict[str, Any]) -> dict[str, Any]:
    """The row without an interval that says something else than its decision; above 0 is better here."""
    low, high = row.get("difference_low"), row.get("difference_high")
    if low is None or high is None or {"better": low > 0, "worse": high < 0}.get(row["decision"], low <= 0 <= high):
        return row
    return {**row, "difference_low": None, "difference_high": None}


def _pairs(
    sides: tuple[MetricCounts, MetricCounts],
    name: str,
    models: tuple[str, str],
    cases: Collection[str],
    weights: Weights,
) -> list[_CaseInBoth]:
    """The means of the cases that both runs asked a model for and that count."""
    old, new = (side.means(name, COUNTING, model) for side, model in zip(sides, models, strict=True))
    before = dict(
        zip(
            (one.case.id for one in old),
            zip(old, weights_of((one.case for one in old), weights), strict=True),
            strict=True,
        )
    )
    both = (
        (one, times) for one, times in zip(new, weights_of((one.case for one in new), weights), strict=True) if times
    )
    return [
        _CaseInBoth(before[one.case.id][0], one, times)
        for one, times in both
        if one.case.id in cases and before.get(one.case.id, (None, 0))[1]
    ]


def _figures(pairs: Sequence[_CaseInBoth], confidence: float) -> dict[str, Any]:
    both = [(old.mean, new.mean, times) for old, new, times in pairs if old.mean is not None and new.mean is not None]
    cells: dict[str, Any] = {"cases": len(both)}
    if not both:
        return cells
    total = sum(times for _, _, times in both)
    before, after = (fsum(mean * times for mean, times in means) / total for means in (
        [(old, times) for old, _, times in both], [(new, times) for _, new, times in both]))  # fmt: skip
    low, high = _interval(pairs, confidence)
    return cells | {
        "mean_before": before,
        "mean_after": after,
        "difference": after - before,
        "difference_low": min(low, after - before),
        "difference_high": max(high, after - before),
    }


def _interval(pairs: Sequence[_CaseInBoth], confidence: float) -> tuple[float, float]:
    """The interval of the mean difference, between minus and plus the greatest difference that there can be among these
    cases, as sign flips keep the sizes; where no case differs, from how many may (Wilson), as Tango's has it."""
    lows = [round(pair.new.low - pair.old.high, DIGITS) for pair in pairs]
    highs = [round(pair.new.high - pair.old.low, DIGITS) for pair in pairs]
    greatest = max(map(abs, (*lows, *highs)))
    if greatest == 0.0:
        most = score_bounds(0.0, len(pairs), two_sided_z(confidence))[1]
        return -most, most
    bottom, top = ([min(1.0, max(0.0, (1.0 + end / greatest) / 2.0)) for end in ends] for ends in (lows, highs))
    shifted = open_mean_interval(bottom, top, confidence, weights=[pair.times for pair in pairs])
    return greatest * (2.0 * shifted.low - 1.0), greatest * (2.0 * shifted.high - 1.0)


def _change(pairs: Sequence[_CaseInBoth]) -> tuple[str, float]:
    """The likelier change and its p-value, if the missing scores came out against it."""
    import numpy as np

    better = np.array([round(UNIT * (pair.new.low - pair.old.high)) * pair.times for pair in pairs], dtype=np.int64)
    worse = np.array([round(UNIT * (pair.new.high - pair.old.low)) * pair.times for pair in pairs], dtype=np.int64)
    if better.sum() > 0:
        return "better", sign_flip_p(better)
    return ("worse", sign_flip_p(worse)) if worse.sum() < 0 else ("undecided", 1.0)
