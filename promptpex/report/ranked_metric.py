"""The metric that models are ranked by, in words, for the report's answer: from rows of tables, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from promptpex.codecs.text.wording import did_you_mean, named
from promptpex.core.errors import InputError
from promptpex.core.translation import tr, tr_n
from promptpex.report.percentages import TableRow, confidence_interval, listed, percent
from promptpex.tables import RANKED_BY

SCORED = "ranked_scored"
"""The cell of the outputs that have a score by the metric."""
FEW_SCORED = 20
"""Outputs with a score below which a mean is a rough guide, as with scored outputs."""

_CELLS = {"mean": None, "ci_low": None, "ci_high": None, "scored": 0, "unscored": 0}


def require_metric(rank_by: str, names: Sequence[str]) -> None:
    """Refuses to rank models by a metric that there is not.

    Raises:
        InputError: with the metrics that there are.
    """
    if rank_by in RANKED_BY or rank_by in names:
        return
    metrics_text = f"the metrics here are {named(names)}" if names else "there is no metric here"
    choices = f"models are ranked by {', '.join(RANKED_BY)} or a metric, and {metrics_text}"
    hint = did_you_mean(rank_by, (*RANKED_BY, *names))
    raise InputError(f"--rank-by names {rank_by!r}: {choices}{f'; {hint}' if hint else ''}")


def with_ranked_metric(rows: Sequence[TableRow], by_metric: Sequence[TableRow], metric: str) -> list[dict[str, Any]]:
    """Rows of the table of models, each with what it has by the metric: ``ranked_mean``, ``ranked_ci_low``,
    ``ranked_ci_high``, ``ranked_scored`` and ``ranked_unscored``; without a mean where it has no score.

    Args:
        rows: of the table of models.
        by_metric: of the table of metrics.
        metric: its name; where no metric is called so, nothing is scored by it.
    """
    own = {row["model"]: row for row in by_metric if row["metric"] == metric and row["counts"]}
    return [
        {**row, **{f"ranked_{name}": own.get(row["model"], _CELLS).get(name, other) for name, other in _CELLS.items()}}
        for row in rows
    ]


def mean(row: TableRow, metric: str, confidence: float) -> str:
    """The mean with its interval: ``tone 84%, 95% CI 80–88%``; that there is none where nothing was scored."""
    if row["ranked_mean"] is None:
        return tr("nothing scored by {metric}", metric=metric)
    return f"{metric} {percent(row['ranked_mean'])}, {_interval(row, confidence)}"


def _interval(row: TableRow, confidence: float) -> str:
    return confidence_interval(row["ranked_ci_low"], row["ranked_ci_high"], confidence)


def scored(row: TableRow, metric: str, confidence: float) -> str:
    """The same as the rest of a sentence on the model."""
    if row["ranked_mean"] is None:
        return tr("has no score by {metric}", metric=metric)
    return tr(
        "has a mean of {mean} by {metric} ({interval})",
        mean=percent(row["ranked_mean"]),
        metric=metric,
        interval=_interval(row, confidence),
    )


def caveats(rows: Sequence[TableRow], metric: str) -> Iterator[str]:
    """What a reader of the means has to know: few outputs, outputs without a score."""
    rows_with_few = [row for row in rows if 0 < row[SCORED] < FEW_SCORED]
    if len(rows_with_few) == 1:
        yield tr_n(
            "{model}'s mean by {metric} rests on only {count} output.",
            "{model}'s mean by {metric} rests on only {count} outputs.",
            rows_with_few[0][SCORED],
            model=rows_with_few[0]["model"],
            metric=metric,
        )
    elif rows_with_few:
        models = listed(f"{row['model']} ({row[SCORED]})" for row in rows_with_few)
        yield tr(
            "The means by {metric} of {models} rest on fewer than {few} outputs each.",
            metric=metric,
            models=models,
            few=FEW_SCORED,
        )
    missing = [row for row in rows if row["ranked_unscored"]]
    if missing:
        parts = listed(
            tr(
                "{some} of {all} outputs of {model}",
                some=row["ranked_unscored"],
                all=row[SCORED] + row["ranked_unscored"],
                model=row["model"],
            )
            for row in missing
        )
        yield tr_n(
            "{outputs} has no score by {metric}: the intervals hold whatever it would be.",
            "{outputs} have no score by {metric}: the intervals hold whatever it would be.",
            sum(row["ranked_unscored"] for row in missing),
            outputs=f"{parts[0].upper()}{parts[1:]}",
            metric=metric,
        )
