"""The metric that models are ranked by, in words, for the report's answer: from rows of tables, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from promptpex.codecs.wording import did_you_mean, named, plural
from promptpex.core.errors import InputError
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
    there = f"the metrics here are {named(names)}" if names else "there is no metric here"
    choices = f"models are ranked by {', '.join(RANKED_BY)} or a metric, and {there}"
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
        return f"nothing scored by {metric}"
    interval = confidence_interval(row["ranked_ci_low"], row["ranked_ci_high"], confidence)
    return f"{metric} {percent(row['ranked_mean'])}, {interval}"


def scored(row: TableRow, metric: str, confidence: float) -> str:
    """The same as the rest of a sentence on the model."""
    if row["ranked_mean"] is None:
        return f"has no score by {metric}"
    return f"has a mean of {percent(row['ranked_mean'])} by {metric} ({mean(row, '', confidence).partition(', ')[2]})"


def caveats(rows: Sequence[TableRow], metric: str) -> Iterator[str]:
    """What a reader of the means has to know: few outputs, outputs without a score."""
    few = [row for row in rows if 0 < row[SCORED] < FEW_SCORED]
    if len(few) == 1:
        yield f"{few[0]['model']}'s mean by {metric} rests on only {plural(few[0][SCORED], 'output')}."
    elif few:
        models = listed(f"{row['model']} ({row[SCORED]})" for row in few)
        yield f"The means by {metric} of {models} rest on fewer than {FEW_SCORED} outputs each."
    missing = [row for row in rows if row["ranked_unscored"]]
    if missing:
        parts = listed(
            f"{row['ranked_unscored']} of {row[SCORED] + row['ranked_unscored']} outputs of {row['model']}"
            for row in missing
        )
        verb = "has" if sum(row["ranked_unscored"] for row in missing) == 1 else "have"
        yield f"{parts[0].upper()}{parts[1:]} {verb} no score by {metric}: the intervals hold whatever it would be."
