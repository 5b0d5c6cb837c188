"""The run-to-run noise of models as a table, from several runs of the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.stats.run_noise import run_noise
from promptpex.tables.counts_per_case import Weights, counted
from promptpex.tables.frames import typed
from promptpex.tables.outputs_without_texts import answers

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

OWN = "own"
"""A column that tables of outputs may have here: whether an answer is known to be the run's own, none that it may have
read from the response store."""

_PLACE = ["case", "model", "repeat"]
_SAME_ANSWER = [*_PLACE, "answer", "latency_ms", "tokens_out"]
"""What is the same where two runs read one answer from the response store, if it took a time at all."""


def noise(
    groups: Sequence[Sequence[pd.DataFrame]],
    *,
    repeats: int = 1,
    confidence: float = 0.95,
    weights: Weights | None = None,
) -> pd.DataFrame:
    """A row per model that has answered a case twice; columns ``NOISE_COLUMNS``.

    Args:
        groups: tables of outputs, those of one group from different runs that were made from the same; answers that
            two of them read from the store count once. Where a column ``own`` does not say whose an answer is, its
            latency tells it from others; without one it counts where no other run has an answer. Cases of different
            groups are different cases.
        repeats: how often a run asks each case.
        confidence: of the intervals.
        weights: how many times each case counts.
    """
    import pandas as pd

    marked = [
        frame.assign(case=frame["case"] + f" {number}", run=f"{number} {place}", answer=answers(frame))
        for number, frames in enumerate(groups)
        for place, frame in enumerate(frames)
    ]
    if not marked:
        return typed([], NOISE_COLUMNS)
    unique_runs = _each_once(pd.concat(marked, ignore_index=True))
    counts = counted(unique_runs, weights=weights).asked
    rows: list[dict[str, Any]] = []
    for number, model in enumerate(counts.models):
        measured = run_noise(counts, number, repeats=repeats, groups=len(groups), confidence=confidence)
        if measured is not None:
            interval = measured.differing
            rows.append(
                {
                    "model": model,
                    "runs": unique_runs.loc[unique_runs["model"].isin([model]), "run"].nunique(),
                    "cases": interval.n,
                    "differing": interval.estimate,
                    "differing_low": interval.low,
                    "differing_high": interval.high,
                    "points": measured.points,
                    "points_at_most": measured.points_at_most,
                }
            )
    return typed(rows, NOISE_COLUMNS)


def with_owner(rows: pd.DataFrame, *, is_own: bool, never: Sequence[str] = ()) -> pd.DataFrame:
    """A table of outputs with the column ``own`` that ``noise`` goes by.

    Args:
        is_own: whether the run asked for all of its answers itself, or nothing was stored before it.
        never: models whose answers are never a run's own, as those from a recording.
    """
    return rows.assign(**{OWN: ~rows["model"].isin(list(never)) & is_own})


def _each_once(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without answers that are another run's, or may be: equal ones that took no time could be either, and
    where only those were left out that are equal, all that is left would differ."""
    import numpy as np

    own = rows[OWN].eq(True).to_numpy(bool) if OWN in rows else np.zeros(len(rows), dtype=bool)
    timed = rows["latency_ms"].fillna(0.0).gt(0.0).to_numpy(bool)
    ranked_rows = rows.assign(rank=np.select([own, timed], [0, 1], 2)).sort_values("rank", kind="stable")
    again = ranked_rows.duplicated(_SAME_ANSWER) | (ranked_rows["rank"].eq(2) & ranked_rows.duplicated(_PLACE))
    return ranked_rows[ranked_rows["rank"].eq(0) | ~again].sort_index()
