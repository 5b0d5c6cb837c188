"""Accuracy: how many outputs are the expected ones, by the counts that non-compliance is made of as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from promptpex.stats import Completion, Grid, Interval, share, share_interval
from promptpex.tables.counts_per_case import Counted
from promptpex.tables.run_rows import Rows, Source, database_of

ACCURACY_COLUMNS: Mapping[str, str] = {
    "accuracy": "Float64",
    "accuracy_scored": "Int64",
    "accuracy_ci_low": "Float64",
    "accuracy_ci_high": "Float64",
    "accuracy_right": "Int64",
    "accuracy_unscored": "Int64",
    "accuracy_at_least": "boolean",
    "accuracy_best": "Float64",
    "accuracy_worst": "Float64",
    "accuracy_worst_low": "Float64",
    "accuracy_worst_high": "Float64",
}
"""``accuracy`` is the mean over the cases that have an expected output of the share of their scored outputs that are
right, with its interval; where usable answers could not be compared (``accuracy_at_least``) of all their usable
answers, a lower bound, and the interval holds whatever they are. ``accuracy_scored`` outputs were compared, of which
``accuracy_right`` are right; ``accuracy_unscored`` were asked for and could not be. ``accuracy_best`` and
``accuracy_worst`` are the accuracy if all of these were right, or wrong; ``accuracy_worst_low`` and
``accuracy_worst_high`` the interval's ends in the second case. Missing where no case has an expected output."""

ACCURACY_CHANGE_COLUMNS: Mapping[str, str] = {
    "accuracy_cases": "Int64",
    "accuracy_before": "Float64",
    "accuracy_after": "Float64",
    "accuracy_difference": "Float64",
    "accuracy_difference_low": "Float64",
    "accuracy_difference_high": "Float64",
    "accuracy_p": "Float64",
    "accuracy_p_adjusted": "Float64",
    "accuracy_decision": "string",
    "accuracy_undecided_because": "string",
    "accuracy_within_tolerance": "boolean",
}
"""What has changed in accuracy from one run to another, on the ``accuracy_cases`` that were compared with the same
expected output in both; everything as in ``COMPARISON_COLUMNS``, but that ``accuracy_difference`` is in accuracy: above
0 is better. Missing where no output was compared in both, shares also where usable answers could not be."""


def accuracy_change(of: Mapping[str, Any]) -> dict[str, Any]:
    """``ACCURACY_CHANGE_COLUMNS`` from a row of a comparison of wrong outputs."""
    cells = {
        "accuracy_cases": of["cases"],
        **{
            f"accuracy_{name}": of[name]
            for name in ("p", "p_adjusted", "decision", "undecided_because", "within_tolerance")
        },
    }
    if cells["accuracy_decision"] == "same outputs":
        cells["accuracy_decision"] = "undecided"
    if not of["cases"]:
        return {"accuracy_cases": of["cases"]}
    if not of["at_least"]:
        before, after = (_right(of[f"non_compliance_{when}"]) for when in ("before", "after"))
        cells |= {"accuracy_before": before, "accuracy_after": after}
    if of.get("difference_low") is not None:
        estimate = of["difference"]
        cells["accuracy_difference"] = None if estimate is None else -estimate
        cells |= {"accuracy_difference_low": -of["difference_high"], "accuracy_difference_high": -of["difference_low"]}
    return cells


def expected_outcomes(*made: Source) -> Rows:
    """The outputs that have a score against an expected output, of which right ones pass and wrong ones fail.

    Args:
        made: a run, or the tables of its outputs and of its scores.
    """
    return Rows(database_of(*made), "compared")


def accuracy_cells(counts: Counted, name: str, confidence: float) -> dict[str, Any]:
    """``ACCURACY_COLUMNS`` of a model.

    Args:
        counts: of ``expected_outcomes``: what broke a rule there is wrong here.
        name: the model.
        confidence: of the intervals.
    """
    grid, usable = counts.asked, counts.usable
    row = grid.row(name)
    if not int(grid.asked[row].sum()):
        return {}
    cells: dict[str, Any] = {
        "accuracy_scored": grid.scored(row),
        "accuracy_right": int(grid.kept[row].sum()),
        "accuracy_unscored": grid.missing(row),
        "accuracy_best": _right(share(grid, row, "best")),
        "accuracy_worst": _right(share(grid, row, "worst")),
    }
    if not grid.scored(row):
        return cells

    def wrong(which: Grid, completion: Completion) -> Interval:
        return share_interval(which, row, confidence=confidence, completion=completion)

    bound = bool(usable.missing(row))
    most, worst = wrong(usable, "worst" if bound else "seen"), wrong(grid, "worst")
    least = wrong(usable, "best") if bound else most
    return cells | {
        "accuracy": _right(most.estimate),
        "accuracy_ci_low": _right(most.high),
        "accuracy_ci_high": _right(least.low),
        "accuracy_at_least": bound,
        "accuracy_worst_low": _right(worst.high),
        "accuracy_worst_high": _right(worst.low),
    }


def mirrored(wrong: Interval) -> Interval:
    """A difference of shares of wrong outputs as the difference in accuracy that it is."""
    estimate = None if wrong.estimate is None else -wrong.estimate
    return replace(wrong, estimate=estimate, low=-wrong.high, high=-wrong.low)


def _right(wrong: float | None) -> float | None:
    """The share of right outputs; one that rounding has left beside a round figure becomes that figure."""
    return None if wrong is None else round(1.0 - wrong, 12)
