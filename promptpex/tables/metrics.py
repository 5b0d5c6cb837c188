"""The owner's metrics: how well the outputs of each model do in each respect, by case, with what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from promptpex.core.records import EXPECTED, METRIC_NAME
from promptpex.stats import open_mean_interval
from promptpex.tables.counts_per_case import CaseFacts, Weights, weights_of
from promptpex.tables.database import RunDatabase
from promptpex.tables.database_sql import ASKED_NOT, JOINED
from promptpex.tables.rankings import RankingOptions, Rankings
from promptpex.tables.run_rows import OUTPUT_COLUMNS, OUTPUT_QUERY, Kinded, Rows, Source, database_of
from promptpex.tables.table import Table

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

_WIDE = {"": "mean", "_scored": "scored", "_ci_low": "ci_low", "_ci_high": "ci_high"}

DIGITS = 12
"""To which means of cases are rounded, so that those that are equal are so."""

COUNTING = ""
"""Stands for the scores that count, where a source would for those of one judge of several."""

_COUNT = "counts AND turn = 0"
_OF_JUDGE = "source GLOB 'judge:*' AND NOT counts AND turn = 0"


@dataclass(frozen=True, slots=True)
class CaseMean:
    """What the mean over the outputs of a model on a case is.

    Attributes:
        low, high: if all that are missing were 0, or 1.
        mean: of the scored ones, where there are any.
        scored, asked: how many of them there are.
    """

    case: CaseFacts
    low: float
    high: float
    mean: float | None
    scored: int
    asked: int


class MetricCounts:
    """The scores of each metric, by who gave them, model and case.

    Args:
        run: the database of a run.
    """

    def __init__(self, run: RunDatabase) -> None:
        self._run = run
        names = run.listed("SELECT name FROM score GROUP BY name ORDER BY min(place)")
        self.names = tuple(name for name in names if name != EXPECTED and re.fullmatch(METRIC_NAME, name))

    @classmethod
    def of(cls, source: Source | MetricCounts) -> MetricCounts:
        """The scores of a run; what was counted of one is returned as it is."""
        return source if isinstance(source, MetricCounts) else cls(database_of(source))

    def fingerprints(self, name: str) -> frozenset[str]:
        """By what a metric's scores that count were made."""
        made = f"SELECT DISTINCT fingerprint FROM score WHERE name = ? AND {_COUNT} AND source <> 'none'"
        return frozenset(self._run.listed(made, [name]))

    def kinds(self, name: str) -> list[tuple[str, str, list[str]]]:
        """A metric's scores by who gave them: ``COUNTING`` or a judge, the source, and the models that have any."""
        by = "SELECT source FROM score WHERE name = ? AND {} GROUP BY source ORDER BY min(place)"
        sources = self._run.listed(by.format(f"{_COUNT} AND source <> 'none'"), [name])
        kinds = [(COUNTING, sources[0] if sources else "none")]
        kinds += [(judge, judge) for judge in self._run.listed(by.format(_OF_JUDGE), [name])]
        return [(kind, source, self._models(name, kind)) for kind, source in kinds]

    def means(self, name: str, kind: str, model: str) -> list[CaseMean]:
        """Of each case of a model what its mean is by a metric, as far as outputs were asked for."""
        where, values = _where(name, kind)
        sql = f"""
            SELECT c.id, c.aim, c.inverse, count(q.value), count(*), total(q.value)
            FROM (
                SELECT key, value, min(place) FROM score
                WHERE {where} AND coalesce(unscored, '') NOT IN {ASKED_NOT} GROUP BY key
            ) q {JOINED.format("q")} WHERE m.name = CAST(? AS TEXT) GROUP BY c.number ORDER BY c.number
        """
        return [_mean(*row) for row in self._run.query(sql, [*values, model])]

    def reasons(self, name: str, kind: str, model: str, weights: Weights) -> Counter[str]:
        """Why outputs of a model have no score, with how many, of cases that have a weight."""
        where, values = _where(name, kind)
        sql = f"""
            SELECT c.aim, c.inverse, s.unscored, count(*) FROM score s {JOINED.format("s")}
            WHERE {where.replace("name", "s.name", 1)} AND s.unscored NOT IN {ASKED_NOT} AND m.name = CAST(? AS TEXT)
            GROUP BY 1, 2, 3 ORDER BY min(s.place)
        """
        counts: Counter[str] = Counter()
        for aim, inverse, reason, count in self._run.query(sql, [*values, model]):
            if any(weights_of([CaseFacts("", aim, inverse)], weights)):
                counts[reason] += count
        return counts

    def _models(self, name: str, kind: str) -> list[str]:
        where, values = _where(name, kind)
        where = where.replace("name", "s.name", 1)
        sql = f"SELECT m.name FROM score s {JOINED.format('s')} WHERE {where} GROUP BY m.number ORDER BY min(s.place)"
        return self._run.listed(sql, values)


def _where(name: str, kind: str) -> tuple[str, list[str]]:
    """Which scores of a metric are of a kind; those that no judge was asked for are each judge's."""
    if kind == COUNTING:
        return f"name = ? AND {_COUNT}", [name]
    return f"name = ? AND ((source = CAST(? AS TEXT) AND {_OF_JUDGE}) OR (counts AND source = 'none'))", [name, kind]


def _mean(case: str, aim: str | None, inverse: int | None, scored: int, asked: int, total: float) -> CaseMean:
    low = round(min(1.0, total / asked), DIGITS)
    return CaseMean(
        CaseFacts(case, aim, None if inverse is None else bool(inverse)),
        low=low,
        high=round(min(1.0, low + (asked - scored) / asked), DIGITS),
        mean=round(min(1.0, total / scored), DIGITS) if scored else None,
        scored=scored,
        asked=asked,
    )


def metrics(
    source: Source | MetricCounts,
    *,
    order: Sequence[str] = (),
    confidence: float = 0.95,
    ranking: Rankings | None = None,
) -> Table:
    """A row per metric, source and model from a table of scores; columns ``METRIC_COLUMNS``.

    Args:
        source: a run, or a table of its scores.
        order: the models; others come after them.
        confidence: of the intervals, where no ``ranking`` is given.
        ranking: the decisions about the models: their level, and how many times each case counts.
    """
    options = ranking.options if ranking else RankingOptions(confidence=confidence)
    counts, rows = MetricCounts.of(source), []
    for name in counts.names:
        for kind, by, models in counts.kinds(name):
            for model in dict.fromkeys([*order, *models]):
                means, reasons = counts.means(name, kind, model), counts.reasons(name, kind, model, options.weights)
                figures = _figures(means, reasons, options.weights, options.confidence)
                rows.append({"model": model, "metric": name, "source": by, "counts": kind == COUNTING, **figures})
    return Table.of(rows, METRIC_COLUMNS)


def with_metrics(by_model: Table, by_metric: Table) -> Table:
    """A table of models with four more columns for each metric, after those that it has: ``metric_NAME`` (the mean),
    ``metric_NAME_scored``, ``metric_NAME_ci_low`` and ``metric_NAME_ci_high``."""
    wide, counting = by_model, [row for row in by_metric.records() if row["counts"]]
    for name in dict.fromkeys(row["metric"] for row in counting):
        rows = {row["model"]: row for row in reversed(counting) if row["metric"] == name}
        for end, column in _WIDE.items():
            if (added := f"metric_{name}{end}") not in wide:
                values = [rows.get(model, {}).get(column) for model in by_model.column("model")]
                wide = wide.with_columns({added: METRIC_COLUMNS[column]}, {added: values})
    return wide


def scored_outputs(*made: Source) -> Kinded:
    """The outputs row by row with a column ``metric_NAME`` for each metric, after ``OUTPUT_COLUMNS``: the output's
    score, from 0 to 1; and the kinds of these columns.

    Args:
        made: a run, or the tables of its outputs and of its scores.
    """
    run = database_of(*made)
    run.need("score_keys")
    own = f"SELECT value FROM score s WHERE s.key = t.key AND s.name = '{{}}' AND {_COUNT} ORDER BY s.place LIMIT 1"
    queries = {f"metric_{name}": f"({own.format(name)})" for name in MetricCounts(run).names}
    rows = Rows(run).query(", ".join([OUTPUT_QUERY, *queries.values()]))
    return {**OUTPUT_COLUMNS, **dict.fromkeys(queries, "Float64")}, rows


def lowest_scores(*made: Source, most: int = 3) -> Table:
    """The ``most`` outputs of each metric that it scores lowest, and below 1, the lowest first; ``LOWEST_COLUMNS``.

    The reason for a joint score of several judges is what each of them said.

    Args:
        made: a run, or the tables of its scores and of its outputs.
        most: rows of each metric.
    """
    run = database_of(*made)
    return Table.of((row for name in MetricCounts(run).names for row in _lowest(run, name, most)), LOWEST_COLUMNS)


def _lowest(run: RunDatabase, name: str, most: int) -> Iterator[dict[str, Any]]:
    sql = f"""
        SELECT s.key, s.value, m.name, c.id, n.repeat, CASE WHEN o.place IS NOT NULL THEN c.inputs END, o.text,
            s.reason, s.source
        FROM (
            SELECT * FROM score WHERE name = ? AND {_COUNT} AND value < 1.0 ORDER BY value, place LIMIT ?
        ) s {JOINED.format("s")}
        LEFT JOIN (SELECT key, text, min(place) AS place FROM output GROUP BY key) o ON o.key = s.key
        ORDER BY s.value, s.place
    """
    names = ("value", "model", "case", "repeat", "inputs", "output", "reason", "source")
    for key, *values in run.query(sql, [name, most]).fetchall():
        row = {"metric": name, **dict(zip(names, values, strict=True))}
        if (row["source"] or "").startswith("judges:"):
            row["reason"] = _of_each_judge(run, key, name) or row["reason"]
        yield row


def _of_each_judge(run: RunDatabase, key: int, name: str) -> str:
    """The reasons of the judges whose scores a joint score was made of."""
    sql = f"SELECT source, coalesce(reason, '') FROM score WHERE key = ? AND name = ? AND {_OF_JUDGE} ORDER BY place"
    return "; ".join(f"{source.removeprefix('judge:')}: {reason}" for source, reason in run.query(sql, [key, name]))


def _figures(means: Sequence[CaseMean], reasons: Counter[str], weights: Weights, confidence: float) -> dict[str, Any]:
    """The figures of a model from the means of its cases, and why outputs of them have no score."""
    times = weights_of((one.case for one in means), weights)
    counting = [(one, weight) for one, weight in zip(means, times, strict=True) if weight]
    if not counting:
        return {"cases": 0, "scored": 0, "unscored": 0}
    scored, asked = sum(one.scored for one, _ in counting), sum(one.asked for one, _ in counting)
    known = [(one.mean, weight) for one, weight in counting if one.mean is not None]
    cells: dict[str, Any] = {
        "cases": len(known),
        "scored": scored,
        "unscored": asked - scored,
        "unscored_reasons": ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or None,
    }
    if not known:
        return cells
    lows, highs, times = (
        [one.low for one, _ in counting],
        [one.high for one, _ in counting],
        [one for _, one in counting],
    )
    whole, worst = (open_mean_interval(lows, ends, confidence, weights=times) for ends in (highs, lows))
    return cells | {
        "mean": min(1.0, fsum(mean * weight for mean, weight in known) / sum(weight for _, weight in known)),
        "ci_low": whole.low,
        "ci_high": whole.high,
        "worst_case": worst.estimate,
        "worst_low": worst.low,
        "worst_high": worst.high,
    }
