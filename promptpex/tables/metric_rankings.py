"""How the models compare by a metric of the owner's: the decisions that there are by non-compliance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from promptpex.stats import ModelDecision, ScoreGrid, Suitability, suitability_by_scores
from promptpex.tables.counts_per_case import weights_of
from promptpex.tables.metrics import COUNTING, MetricCounts
from promptpex.tables.rankings import FEW_OPEN, Decision, RankingOptions, Rankings, require_no_looks
from promptpex.tables.run_rows import Source


def metric_rankings(scores: Source | MetricCounts, order: Sequence[str], options: RankingOptions) -> Rankings:
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


def score_grid(scores: Source | MetricCounts, order: Sequence[str], options: RankingOptions) -> ScoreGrid:
    """The mean scores of each model and case by the metric of ``options``; cases without a weight are left out."""
    import numpy as np

    counts = MetricCounts.of(scores)
    known = dict.fromkeys(model for _, _, own in counts.kinds(options.rank_by)[:1] for model in own)
    models = tuple(dict.fromkeys([*order, *known]))
    means = [counts.means(options.rank_by, COUNTING, model) for model in models]
    cases = list({one.case.id: one.case for own in means for one in own}.values())
    times = weights_of(cases, options.weights)
    places = {
        case.id: place for place, case in enumerate(case for case, weight in zip(cases, times, strict=True) if weight)
    }
    low, high, seen = (np.full((len(models), len(places)), np.nan) for _ in range(3))
    counting = [[one for one in own if one.case.id in places] for own in means]
    for row, own in enumerate(counting):
        columns = [places[one.case.id] for one in own]
        low[row, columns], high[row, columns] = [one.low for one in own], [one.high for one in own]
        seen[row, columns] = [np.nan if one.mean is None else one.mean for one in own]
    return ScoreGrid(
        models=models,
        low=low,
        high=high,
        seen=seen,
        scored=tuple(sum(one.scored for one in own) for own in counting),
        asked=tuple(sum(one.asked for one in own) for own in counting),
        weights=np.array([weight for weight in times if weight], dtype=np.int64),
    )


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
