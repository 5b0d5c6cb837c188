"""Outputs that a near decision about two models hangs on: a person's grade of these may settle it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from promptpex import tables
from promptpex.core.records import Run
from promptpex.tables.repeats import PassCounts, pass_counts

NEAR = 1.0
"""The weight of such an output: it counts twice in ``grading.policies``."""


def near_decisions(runs: Iterable[Run]) -> dict[str, float]:
    """The weights of the outputs of runs, by the item's id.

    Where the data leave undecided whether a model is worse than the one that it is compared with, these are the outputs
    of both on the cases on which they differ, by the verdicts there are: all others leave their difference as it is.
    """
    return {item: NEAR for run in runs for item in _of_run(run)}


def _of_run(run: Run) -> Iterator[str]:
    if len(run.manifest.models) < 2 or not run.verdicts:
        return
    rows = tables.outputs(run)
    shares = _broken_shares(pass_counts(rows))
    options = tables.RankingOptions(looks=run.manifest.looks, older_rule=run.manifest.stopped_by_older_rule)
    pairs = _undecided(tables.rankings(rows, run.manifest.models, options))
    for (case, model, _), item in run.item_ids.items():
        for pair in pairs:
            if model in pair and len({shares.get((one, case)) for one in pair}) > 1:
                yield item


def _undecided(rankings: tables.Rankings) -> list[tuple[str, str]]:
    """Each model that is undecided, with the one that it is compared with."""
    return [
        (model, decision.versus)
        for model, decision in rankings.models.items()
        if decision.outcome == "undecided" and decision.versus is not None
    ]


def _broken_shares(counts: PassCounts) -> dict[tuple[str, str], Fraction]:
    """Per model and case, the share of its scored outputs that break a rule."""
    cells = ((model, case, *cell) for model, cases in counts.items() for case, cell in cases.items())
    return {(model, case): Fraction(bad, good + bad) for model, case, good, bad in cells if good + bad}
