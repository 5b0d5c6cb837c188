"""The owner's metrics: how well the outputs of each model do in each respect, by case, with what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Any

from promptpex.stats import open_mean_interval
from promptpex.tables.counts_per_case import Weights
from promptpex.tables.frames import typed
from promptpex.tables.metric_counts import (
    COUNTING,
    MetricCounts,
    counting_scores,
    metric_names,
    of_judges,
    weights_of,
)
from promptpex.tables.plain_values import records
from promptpex.tables.rankings import RankingOptions, Rankings

if TYPE_CHECKING:
    import pandas as pd

METRIC_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "metric": "string",
    "source": "string",
    "counts": "boolean",
    "cases": "Int64",
    "mean": "Float64",
    "scored": "Int64",
    "unscored": "Int64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "worst_case": "Float64",
    "worst_low": "Float64",
    "worst_high": "Float64",
    "unscored_reasons": "string",
}
"""Columns of ``metrics``. ``mean`` is the mean over the ``cases`` with a score of the mean over their scored outputs,
from 0 to 1; missing where nothing was scored. ``unscored`` outputs were asked for and have no score; cases of weight 0
are in no count. The interval
(``open_mean_interval``) lies around the means of the cases and holds whatever the missing scores are, from all 0 to all
1; ``worst_case`` is the mean if all were 0, with its interval ``worst_low`` and ``worst_high``. ``counts`` is true for
the scores that count, false for those of one judge of several. What a budget, a deadline or a stop left out is in no
column."""

LOWEST_COLUMNS: Mapping[str, str] = {
    "metric": "string",
    "value": "Float64",
    "model": "string",
    "case": "string",
    "repeat": "Int64",
    "inputs": "string",
    "output": "string",
    "reason": "string",
    "source": "string",
}
"""Columns of ``lowest_scores``."""

_OUTPUT = ["case", "model", "repeat"]
_WIDE = {"": "mean", "_scored": "scored", "_ci_low": "ci_low", "_ci_high": "ci_high"}


def metrics(
    scores: pd.DataFrame | MetricCounts,
    *,
    order: Sequence[str] = (),
    confidence: float = 0.95,
    ranking: Rankings | None = None,
) -> pd.DataFrame:
    """A row per metric, source and model from a table of scores, or from its counts; columns ``METRIC_COLUMNS``.

    Args:
        scores: the scores of a run.
        order: the models; others come after them.
        confidence: of the intervals, where no ``ranking`` is given.
        ranking: the decisions about the models: their level, and how many times each case counts.
    """
    options = ranking.options if ranking else RankingOptions(confidence=confidence)
    counts, rows = MetricCounts.of(scores), []
    for name in counts.names:
        for kind, source, models in counts.kinds(name):
            by_model = dict(iter(counts.means(name, kind).groupby("model", sort=False)))
            for model in dict.fromkeys([*order, *models]):
                reasons = counts.reasons(name, kind, model, options.weights) if model in by_model else Counter[str]()
                figures = _figures(by_model.get(model), reasons, options.weights, options.confidence)
                rows.append({"model": model, "metric": name, "source": source, "counts": kind == COUNTING, **figures})
    return typed(rows, METRIC_COLUMNS)


def with_metrics(by_model: pd.DataFrame, by_metric: pd.DataFrame) -> pd.DataFrame:
    """A table of models with four more columns for each metric, after those that it has: ``metric_NAME`` (the mean),
    ``metric_NAME_scored``, ``metric_NAME_ci_low`` and ``metric_NAME_ci_high``."""
    wide, counting = by_model.copy(), by_metric[by_metric["counts"].to_numpy(bool)]
    for name in dict.fromkeys(counting["metric"].tolist()):
        own = counting[counting["metric"].isin([name]).to_numpy(bool)].drop_duplicates("model").set_index("model")
        for end, column in _WIDE.items():
            if (added := f"metric_{name}{end}") not in wide:
                values = own[column].reindex(by_model["model"].tolist())
                wide[added] = values.set_axis(wide.index)
    return wide


def with_scores(rows: pd.DataFrame, scores: pd.DataFrame, names: Sequence[str] | None = None) -> pd.DataFrame:
    """A table of outputs with a column ``metric_NAME`` for each metric, after those that it has: the output's score,
    from 0 to 1.

    Args:
        rows: a table of outputs.
        scores: a table of the scores on them.
        names: the metrics; by default those of the scores.
    """
    wide, counting = rows, counting_scores(scores)
    for name in metric_names(scores) if names is None else names:
        own = counting[counting["name"].isin([name]).to_numpy(bool)].drop_duplicates(_OUTPUT)
        values = own[[*_OUTPUT, "value"]].rename(columns={"value": f"metric_{name}"})
        wide = wide.merge(values, on=_OUTPUT, how="left")
    return wide


def lowest_scores(scores: pd.DataFrame, rows: pd.DataFrame, most: int = 3) -> pd.DataFrame:
    """The ``most`` outputs of each metric that it scores lowest, and below 1, the lowest first; ``LOWEST_COLUMNS``.

    The reason for a joint score of several judges is what each of them said.

    Args:
        scores: the table of scores of a run.
        rows: the table of outputs of the same run.
        most: rows of each metric.
    """
    lowest = LowestScores(most)
    lowest.add(scores, rows)
    return lowest.table()


class LowestScores:
    """What ``lowest_scores`` lists, from scores and outputs that come part by part; an output is in one part."""

    def __init__(self, most: int = 3) -> None:
        self._most = most
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def add(self, scores: pd.DataFrame, rows: pd.DataFrame) -> None:
        """Adds the scores of some outputs, and these."""
        names = metric_names(scores)
        if not names:
            return
        counting, texts = counting_scores(scores), rows[[*_OUTPUT, "inputs", "output"]].drop_duplicates(_OUTPUT)
        below = counting[counting["value"].lt(1.0).fillna(False).to_numpy(bool)]
        for name in names:
            own = below[below["name"].isin([name]).to_numpy(bool)].sort_values("value", kind="stable").head(self._most)
            lowest = records(own.merge(texts, on=_OUTPUT, how="left").assign(metric=name))
            for row in lowest:
                if (row["source"] or "").startswith("judges:"):
                    row["reason"] = _of_each_judge(scores, row) or row["reason"]
            rows_known = [*self._rows.get(name, ()), *lowest]
            self._rows[name] = sorted(rows_known, key=lambda row: float(row["value"]))[: self._most]

    def table(self) -> pd.DataFrame:
        """The table; columns ``LOWEST_COLUMNS``."""
        return typed((row for rows in self._rows.values() for row in rows), LOWEST_COLUMNS)


def _of_each_judge(scores: pd.DataFrame, row: Mapping[str, Any]) -> str:
    """The reasons of the judges whose scores a joint score was made of."""
    own = scores[of_judges(scores) & scores["name"].isin([row["metric"]]).to_numpy(bool)]
    for name in ("case", "model"):
        own = own[own[name].isin([row[name]]).to_numpy(bool)]
    own = own[own["repeat"].eq(row["repeat"]).to_numpy(bool)]
    reasons = zip(own["source"].tolist(), own["reason"].fillna("").tolist(), strict=True)
    return "; ".join(f"{source.removeprefix('judge:')}: {reason}" for source, reason in reasons)


def _figures(cases: pd.DataFrame | None, reasons: Counter[str], weights: Weights, confidence: float) -> dict[str, Any]:
    """The figures of a model from the means of its cases, and why outputs of them have no score."""
    times = [] if cases is None else weights_of(cases, weights)
    if cases is None or not any(times):
        return {"cases": 0, "scored": 0, "unscored": 0}
    counting, times = cases[[one > 0 for one in times]], [one for one in times if one]
    scored, asked = int(counting["scored"].sum()), int(counting["asked"].sum())
    cells: dict[str, Any] = {
        "cases": int((counting["scored"] > 0).sum()),
        "scored": scored,
        "unscored": asked - scored,
        "unscored_reasons": ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or None,
    }
    scored_cases = counting[counting["scored"].gt(0).to_numpy(bool)]
    if scored_cases.empty:
        return cells
    lows, highs = counting["low"].tolist(), counting["high"].tolist()
    whole, worst = (open_mean_interval(lows, ends, confidence, weights=times) for ends in (highs, lows))
    return cells | {
        "mean": _weighted(scored_cases["mean"].tolist(), weights_of(scored_cases, weights)),
        "ci_low": whole.low,
        "ci_high": whole.high,
        "worst_case": worst.estimate,
        "worst_low": worst.low,
        "worst_high": worst.high,
    }


def _weighted(values: Sequence[float], weights: Sequence[int]) -> float:
    return min(1.0, fsum(value * times for value, times in zip(values, weights, strict=True)) / sum(weights))
