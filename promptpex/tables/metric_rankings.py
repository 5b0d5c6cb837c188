"""How the models compare by a metric of the owner's: the decisions that there are by non-compliance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from promptpex.stats import ModelDecision, ScoreGrid, Suitability, suitability_by_scores
from promptpex.tables.metric_counts import MetricCounts, weights_of
from promptpex.tables.rankings import FEW_OPEN, Decision, RankingOptions, Rankings, require_no_looks

if TYPE_CHECKING:
    import pandas as pd


def metric_rankings(scores: pd.DataFrame | MetricCounts, order: Sequence[str], options: RankingOptions) -> Rankings:
    """The decisions about the models by the metric that ``options.rank_by`` names, from scores.

    Differences are of the loss, 1 minus the score, as ``Decision`` has it.

    Args:
        scores: the table of scores of a run, or its counts.
        order: all models, those without scores too.
        options: what they are compared with.

    Raises:
        InputError: the model to compare with is not one of them, or the run drops what is worse by non-compliance.
    """
    require_no_looks(options)
    grid = score_grid(scores, order, options)
    test = partial(suitability_by_scores, grid, tolerance=options.tolerance, alpha=options.alpha)
    tested = test(against=options.against)
    is_open = any(grid.missing(row) for row in range(len(grid.models)))
    others = [test(against=options.against, reading=how) for how in ("seen", "for")] if is_open else []
    decisions = {name: _decision(grid, one, tested, others, options) for name, one in tested.models.items()}
    return Rankings(decisions, options)


def score_grid(scores: pd.DataFrame | MetricCounts, order: Sequence[str], options: RankingOptions) -> ScoreGrid:
    """The mean scores of each model and case by the metric of ``options``; cases without a weight are left out."""
    import numpy as np

    means = MetricCounts.of(scores).means(options.rank_by)
    if means.empty:
        return _no_scores(tuple(order))
    times = weights_of(means, options.weights)
    means = means[[weight > 0 for weight in times]].assign(times=[weight for weight in times if weight])
    models = tuple(dict.fromkeys([*order, *map(str, means["model"])]))
    about = means.drop_duplicates("case")
    cases = [str(case) for case in about["case"]]
    tables = {
        name: means.pivot(index="model", columns="case", values=name)
        .reindex(index=list(models), columns=cases)
        .to_numpy(dtype=np.float64, na_value=np.nan)
        for name in ("low", "high", "mean")
    }
    sums = means.groupby("model", observed=True)[["scored", "asked"]].sum().reindex(list(models)).fillna(0)
    return ScoreGrid(
        models=models,
        low=tables["low"],
        high=tables["high"],
        seen=tables["mean"],
        scored=tuple(map(int, sums["scored"])),
        asked=tuple(map(int, sums["asked"])),
        weights=np.array(list(about["times"]), dtype=np.int64),
    )


def _no_scores(models: tuple[str, ...]) -> ScoreGrid:
    import numpy as np

    nothing, zeros = np.empty((len(models), 0)), (0,) * len(models)
    return ScoreGrid(models, nothing, nothing, nothing, zeros, zeros, weights=np.empty(0, dtype=np.int64))


def _decision(
    grid: ScoreGrid, model: ModelDecision, shown: Suitability, others: Sequence[Suitability], options: RankingOptions
) -> Decision:
    anchor, gap = shown.anchor, None
    if anchor is not None and anchor != model.model:
        rows = grid.models.index(model.model), grid.models.index(anchor)
        gap = grid.difference(*rows, options.confidence)
    because = _because(grid, model.model, others, options.rank_by) if model.outcome == "undecided" else None
    return Decision.of(model, anchor, gap, because)


def _because(grid: ScoreGrid, model: str, others: Sequence[Suitability], metric: str) -> str | None:
    """What keeps an outcome undecided: models without any score, and missing scores without which it would be
    decided."""
    rows = list(enumerate(grid.models))
    reasons = [f"no output of {name} was scored by {metric}" for row, name in rows if not grid.scored[row]]
    shares = [grid.missing(row) / grid.asked[row] for row, _ in rows if grid.asked[row]]
    decided = [other.models[model].claim for other in others]
    if decided and (decided[0] or (decided[1] and max(shares, default=0.0) > FEW_OPEN)):
        reasons += [
            f"{grid.missing(row)} of {grid.asked[row]} outputs of {name} have no score by {metric}"
            for row, name in rows
            if grid.missing(row) and grid.scored[row]
        ]
    return "; ".join(reasons) or None
