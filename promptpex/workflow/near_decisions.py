"""Outputs that a near decision about two models hangs on: a person's grade of these may settle it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from promptpex import tables
from promptpex.core.errors import InputError
from promptpex.core.records import Run
from promptpex.synthesis.examples import examples_of

if TYPE_CHECKING:
    import pandas as pd

NEAR = 1.0
"""The weight of such an output: it counts twice in ``grading.policies``."""

_Shares = dict[str, dict[str, Fraction]]
"""Per model and case, the share of its scored outputs that break a rule."""


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
    cases, pairs = _shares(run, rows), _undecided(run, rows)
    items = examples_of(run).of_output
    for (case, model, _), item in items.items():
        for pair in pairs:
            if model in pair and len({cases[one].get(case) for one in pair}) > 1:
                yield item


def _undecided(run: Run, rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Each model that is undecided, with the one that it is compared with; none where nothing can be compared."""
    options = tables.RankingOptions(looks=run.manifest.looks)
    try:
        decisions = tables.rankings(rows, run.manifest.models, options).models
    except InputError:
        return []
    return [
        (model, decision.versus)
        for model, decision in decisions.items()
        if decision.outcome == "undecided" and decision.versus is not None
    ]


def _shares(run: Run, rows: pd.DataFrame) -> _Shares:
    counts: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for model, case, verdict in zip(rows["model"], rows["case"], rows["verdict"], strict=True):
        if verdict != "unscored":
            counts[str(model), str(case)].append(verdict == "fail")
    shares: _Shares = {model: {} for model in run.manifest.models}
    for (model, case), broken in counts.items():
        shares[model][case] = Fraction(sum(broken), len(broken))
    return shares
