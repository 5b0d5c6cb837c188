"""The owner's metrics of two runs side by side: which models are shown to do better or worse by which metric."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Any

from promptpex.stats import holm, open_mean_interval, sign_flip_p
from promptpex.stats.intervals import score_bounds
from promptpex.stats.score_means import UNIT
from promptpex.stats.special import two_sided_z
from promptpex.tables.compare_runs import name_in_both
from promptpex.tables.counts_per_case import Weights
from promptpex.tables.frames import typed
from promptpex.tables.metric_counts import DIGITS, MetricCounts, weights_of

if TYPE_CHECKING:
    import pandas as pd

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

Case = Mapping[Hashable, Any]


def metric_changes(
    before: pd.DataFrame | MetricCounts,
    after: pd.DataFrame | MetricCounts,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float = 0.95,
    weights: Weights | None = None,
    same_texts: Sequence[Collection[str]] = (),
) -> pd.DataFrame:
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
        old, new = (_by_model(side.means(name), weights or {}) for side in sides)
        for at, (was, now) in enumerate(models):
            pairs = [(old[was][case], row) for case, row in new.get(now, {}).items() if case in old.get(was, {})]
            same = [pair for pair in pairs if pair[1]["case"] in inside]
            texts = same_texts[at] if same_texts else ()
            changed = [pair for pair in same if pair[1]["case"] not in texts]
            figures = _figures(same, confidence) | dict(zip(("decision", "p"), _change(changed), strict=True))
            rows.append({"model": name_in_both(was, now), "metric": name, **figures})
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        is_significant = p <= round(1.0 - confidence, 12)
        row |= {"p_adjusted": p, "decision": row["decision"] if is_significant else "undecided"}
        row |= {} if row["cases"] else {"p": None, "p_adjusted": None}
        row |= _without_contradiction(row)
    return typed(rows, METRIC_CHANGE_COLUMNS)


def _without_contradiction(row: dict[str, Any]) -> dict[str, Any]:
    """The row without an interval that says something else than its decision; above 0 is better here."""
    low, high = row.get("difference_low"), row.get("difference_high")
    if low is None or high is None or {"better": low > 0, "worse": high < 0}.get(row["decision"], low <= 0 <= high):
        return row
    return {**row, "difference_low": None, "difference_high": None}


def _by_model(means: pd.DataFrame, weights: Weights) -> dict[str, dict[str, Case]]:
    """Per model and case what the mean over its outputs is, of the cases that count."""
    cases: dict[str, dict[str, Case]] = {}
    for row, times in zip(means.to_dict("records"), weights_of(means, weights), strict=True):
        if times:
            cases.setdefault(row["model"], {})[row["case"]] = {**row, "times": times}
    return cases


def _figures(pairs: Sequence[tuple[Case, Case]], confidence: float) -> dict[str, Any]:
    both = [pair for pair in pairs if all(one["scored"] for one in pair)]
    cells: dict[str, Any] = {"cases": len(both)}
    if not both:
        return cells
    total = sum(new["times"] for _, new in both)
    means = [fsum(pair[at]["mean"] * pair[1]["times"] for pair in both) / total for at in (0, 1)]
    low, high = _interval(pairs, confidence)
    difference = means[1] - means[0]
    return cells | {
        "mean_before": means[0],
        "mean_after": means[1],
        "difference": difference,
        "difference_low": min(low, difference),
        "difference_high": max(high, difference),
    }


def _interval(pairs: Sequence[tuple[Case, Case]], confidence: float) -> tuple[float, float]:
    """The interval of the mean difference, between minus and plus the greatest difference that there can be among these
    cases, as sign flips keep the sizes; where no case differs, from how many may (Wilson), as Tango's has it."""
    lows = [round(float(new["low"] - old["high"]), DIGITS) for old, new in pairs]
    highs = [round(float(new["high"] - old["low"]), DIGITS) for old, new in pairs]
    greatest = max(map(abs, (*lows, *highs)))
    if greatest == 0.0:
        most = score_bounds(0.0, len(pairs), two_sided_z(confidence))[1]
        return -most, most
    bottom, top = ([min(1.0, max(0.0, (1.0 + end / greatest) / 2.0)) for end in ends] for ends in (lows, highs))
    shifted = open_mean_interval(bottom, top, confidence, weights=[new["times"] for _, new in pairs])
    return greatest * (2.0 * shifted.low - 1.0), greatest * (2.0 * shifted.high - 1.0)


def _change(pairs: Sequence[tuple[Case, Case]]) -> tuple[str, float]:
    """The likelier change and its p-value, if the missing scores came out against it."""
    import numpy as np

    def units(least: str, most: str) -> Any:
        return np.array([round(UNIT * (new[least] - old[most])) * new["times"] for old, new in pairs], dtype=np.int64)

    better, worse = units("low", "high"), units("high", "low")
    if better.sum() > 0:
        return "better", sign_flip_p(better)
    return ("worse", sign_flip_p(worse)) if worse.sum() < 0 else ("undecided", 1.0)
