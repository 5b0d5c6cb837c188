"""The run-to-run noise of models as a table, from several runs of the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.stats.run_noise import run_noise
from promptpex.tables.counts_per_case import Weights, counted
from promptpex.tables.frames import typed

if TYPE_CHECKING:
    import pandas as pd

NOISE_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "runs": "Int64",
    "cases": "Int64",
    "differing": "Float64",
    "differing_low": "Float64",
    "differing_high": "Float64",
    "points": "Float64",
    "points_at_most": "Float64",
}
"""Columns of ``noise``. ``runs``: in how many runs the model was asked. ``differing``: the mean over the ``cases`` with
two scored answers or more of the chance that two answers differ in whether they break a rule, with its interval.
``points``: by how much, as a share, the model's non-compliance in two runs differs by that alone at most, as often as
the confidence says; ``points_at_most``: the same at the upper end of the interval."""

_SAME_ANSWER = ["case", "model", "repeat", "request", "latency_ms", "tokens_out", "output"]
"""What is the same where two runs read one answer from the response store."""


def noise(
    groups: Sequence[Sequence[pd.DataFrame]],
    *,
    repeats: int = 1,
    confidence: float = 0.95,
    weights: Weights | None = None,
) -> pd.DataFrame:
    """A row per model that has answered a case twice; columns ``NOISE_COLUMNS``.

    Args:
        groups: tables of outputs, those of one group from runs that were made from the same; answers that two of them
            read from the store count once. Cases of different groups are different cases.
        repeats: how often a run asks each case.
        confidence: of the intervals.
        weights: how many times each case counts.
    """
    import pandas as pd

    marked = [
        frame.assign(case=frame["case"] + f" {number}", run=f"{number} {place}")
        for number, frames in enumerate(groups)
        for place, frame in enumerate(frames)
    ]
    if not marked:
        return typed([], NOISE_COLUMNS)
    every = pd.concat(marked, ignore_index=True).drop_duplicates(_SAME_ANSWER)
    counts = counted(every, weights=weights).asked
    rows: list[dict[str, Any]] = []
    for number, model in enumerate(counts.models):
        measured = run_noise(counts, number, repeats=repeats, groups=len(groups), confidence=confidence)
        if measured is not None:
            interval = measured.differing
            rows.append(
                {
                    "model": model,
                    "runs": every.loc[every["model"].isin([model]), "run"].nunique(),
                    "cases": interval.n,
                    "differing": interval.estimate,
                    "differing_low": interval.low,
                    "differing_high": interval.high,
                    "points": measured.points,
                    "points_at_most": measured.points_at_most,
                }
            )
    return typed(rows, NOISE_COLUMNS)
