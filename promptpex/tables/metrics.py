"""The owner's metrics: how well the outputs of each model do in each respect, by case, with what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Any

from promptpex.core.records import EXPECTED, METRIC_NAME, NOT_ASKED
from promptpex.stats import open_mean_interval
from promptpex.tables.counts_per_case import Weights, weighed
from promptpex.tables.frames import is_from, marked, typed
from promptpex.tables.plain_values import records
from promptpex.tables.rankings import RankingOptions, Rankings
from promptpex.tables.summary import confidence_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
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

DIGITS = 12
"""To which means of cases are rounded, so that those that are equal are so."""

_OUTPUT = ["case", "model", "repeat"]
_WIDE = {"": "mean", "_scored": "scored", "_ci_low": "ci_low", "_ci_high": "ci_high"}


def metrics(
    scores: pd.DataFrame,
    *,
    order: Sequence[str] = (),
    confidence: float = 0.95,
    ranking: Rankings | None = None,
) -> pd.DataFrame:
    """A row per metric, source and model from a table of scores; columns ``METRIC_COLUMNS``.

    Args:
        scores: the table of scores of a run.
        order: the models; others come after them.
        confidence: of the intervals, where no ``ranking`` is given.
        ranking: the decisions about the models: their level, and how many times each case counts.
    """
    options = ranking.options if ranking else RankingOptions(confidence=confidence)
    rows = []
    for name in metric_names(scores):
        for source, counts, part in _by_source(scores[scores["name"].isin([name]).to_numpy(bool)]):
            models = dict.fromkeys([*order, *map(str, part["model"].unique())])
            for model in models:
                own = part[part["model"].isin([model]).to_numpy(bool)]
                level = confidence_of(ranking, model) if ranking else confidence
                figures = _figures(own, options.weights, level)
                rows.append({"model": model, "metric": name, "source": source, "counts": counts, **figures})
    return typed(rows, METRIC_COLUMNS)


def metric_names(scores: pd.DataFrame) -> tuple[str, ...]:
    """The metrics that a table of scores is about, as they first appear; what cannot be a metric's name is left out."""
    names = map(str, scores["name"].dropna().unique())
    return tuple(name for name in names if name != EXPECTED and re.fullmatch(METRIC_NAME, name))


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


def with_scores(rows: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """A table of outputs with a column ``metric_NAME`` for each metric, after those that it has: the output's score,
    from 0 to 1."""
    wide, counting = rows, _counting(scores)
    for name in metric_names(scores):
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
    names = metric_names(scores)
    if not names:
        return typed((), LOWEST_COLUMNS)
    counting, texts = _counting(scores), rows[[*_OUTPUT, "inputs", "output"]].drop_duplicates(_OUTPUT)
    below = counting[counting["value"].lt(1.0).fillna(False).to_numpy(bool)]
    lowest: list[dict[str, Any]] = []
    for name in names:
        own = below[below["name"].isin([name]).to_numpy(bool)].sort_values("value", kind="stable").head(most)
        joined = own.merge(texts, on=_OUTPUT, how="left").assign(metric=name)
        lowest += records(joined)
    for row in lowest:
        if (row["source"] or "").startswith("judges:"):
            row["reason"] = _of_each_judge(scores, row) or row["reason"]
    return typed(lowest, LOWEST_COLUMNS)


def _of_each_judge(scores: pd.DataFrame, row: Mapping[str, Any]) -> str:
    """The reasons of the judges whose scores a joint score was made of."""
    own = scores[_of_judges(scores) & scores["name"].isin([row["metric"]]).to_numpy(bool)]
    for name in ("case", "model"):
        own = own[own[name].isin([row[name]]).to_numpy(bool)]
    own = own[own["repeat"].eq(row["repeat"]).to_numpy(bool)]
    reasons = zip(own["source"].tolist(), own["reason"].fillna("").tolist(), strict=True)
    return "; ".join(f"{source.removeprefix('judge:')}: {reason}" for source, reason in reasons)


def case_means(scores: pd.DataFrame) -> pd.DataFrame:
    """Per model and case of one metric's scores, what the mean over its outputs is: columns ``low`` and ``high`` if all
    that are missing were 0, or 1, ``mean`` of the scored ones, ``aim`` and ``inverse``."""
    asked = scores[~marked(scores["unscored"], NOT_ASKED.__contains__)].drop_duplicates(_OUTPUT)
    groups = asked.assign(known=asked["value"].fillna(0.0)).groupby(["model", "case"], sort=False, observed=True)
    table = groups.agg(
        total=("known", "sum"), scored=("value", "count"), asked=("repeat", "size"), aim=("aim", "first"),
        inverse=("inverse", "first"),
    )  # fmt: skip
    missing = (table["asked"] - table["scored"]) / table["asked"]
    table["low"] = (table["total"] / table["asked"]).clip(0.0, 1.0).round(DIGITS)
    table["high"] = (table["low"] + missing).clip(0.0, 1.0).round(DIGITS)
    table["mean"] = (table["total"] / table["scored"].where(table["scored"] > 0)).clip(0.0, 1.0).round(DIGITS)
    return table


def counting_scores(scores: pd.DataFrame, name: str) -> pd.DataFrame:
    """The scores of one metric that count."""
    counting = _counting(scores)
    return counting[counting["name"].isin([name]).to_numpy(bool)]


def weights_of(cases: pd.DataFrame, weights: Weights) -> list[int]:
    """How many times each row of ``case_means`` counts."""
    aims = cases["aim"].astype(object)
    return weighed(list(aims.where(aims.notna(), None)), cases["inverse"].fillna(False).tolist(), weights)


def _counting(scores: pd.DataFrame) -> pd.DataFrame:
    return scores[(scores["counts"] & scores["turn"].eq(0)).fillna(False).to_numpy(bool)]


def _by_source(own: pd.DataFrame) -> Iterator[tuple[str, bool, pd.DataFrame]]:
    """One metric's scores by who gave them: those that count, then each judge of several, to each of whom an output
    without a usable answer is missing."""
    counting = _counting(own)
    by_somebody = [source for source in counting["source"].dropna().unique() if source != "none"]
    yield (by_somebody[0] if by_somebody else "none"), True, counting
    judged = _of_judges(own)
    unusable = own["counts"].fillna(False).to_numpy(bool) & own["source"].isin(["none"]).to_numpy(bool)
    for source in own.loc[judged, "source"].unique():
        yield str(source), False, own[(judged & own["source"].isin([source]).to_numpy(bool)) | unusable]


def _of_judges(scores: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Where a score is that of one judge of several."""
    beside = ~scores["counts"].fillna(True).to_numpy(bool) & scores["turn"].eq(0).fillna(False).to_numpy(bool)
    judged: npt.NDArray[np.bool_] = beside & is_from(scores, "judge").to_numpy(bool)
    return judged


def _figures(own: pd.DataFrame, weights: Weights, confidence: float) -> dict[str, Any]:
    cases = case_means(own)
    times = weights_of(cases, weights)
    counting, times = cases[[one > 0 for one in times]], [one for one in times if one]
    if counting.empty:
        return {"cases": 0, "scored": 0, "unscored": 0}
    scored, asked = int(counting["scored"].sum()), int(counting["asked"].sum())
    missing = own.loc[own["case"].isin(counting.index.get_level_values("case")), "unscored"].dropna()
    reasons = Counter(missing[~marked(missing, NOT_ASKED.__contains__)].tolist())
    cells: dict[str, Any] = {
        "cases": int((counting["scored"] > 0).sum()),
        "scored": scored,
        "unscored": asked - scored,
        "unscored_reasons": ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or None,
    }
    seen = counting[counting["scored"].gt(0).to_numpy(bool)]
    if seen.empty:
        return cells
    lows, highs = counting["low"].tolist(), counting["high"].tolist()
    whole, worst = (open_mean_interval(lows, ends, confidence, weights=times) for ends in (highs, lows))
    return cells | {
        "mean": _weighted(seen["mean"].tolist(), weights_of(seen, weights)),
        "ci_low": whole.low,
        "ci_high": whole.high,
        "worst_case": worst.estimate,
        "worst_low": worst.low,
        "worst_high": worst.high,
    }


def _weighted(values: Sequence[float], weights: Sequence[int]) -> float:
    return min(1.0, fsum(value * times for value, times in zip(values, weights, strict=True)) / sum(weights))
