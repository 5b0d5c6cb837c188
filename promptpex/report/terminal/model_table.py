"""The table of models: what they are ranked by, with the decision about each, and what else fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from promptpex.core.translation import Key, from_data, shown, tr
from promptpex.report.caveats_in_words import FEW
from promptpex.report.percentages import TableRow, as_given, listed
from promptpex.report.quantities import NON_COMPLIANCE, Quantity, quantities
from promptpex.report.summary import Summary
from promptpex.report.terminal.fitted_table import NAME, Column, fitted
from promptpex.report.terminal.texts import clean, money, named, seconds

if TYPE_CHECKING:
    from rich.table import Table


def model_table(
    summary: Summary, width: int, *, models: Sequence[str] | None = None, edges: bool = True
) -> tuple[Table, list[str]]:
    """The table, and the headers of the columns that did not fit.

    Args:
        models: those that are shown; by default all.
        edges: as in ``fitted``.
    """
    quantities_shown = quantities(summary)
    *others, last = (clean(quantity.title) for quantity in quantities_shown)
    titles = listed([*others, last])
    rows = [row for row in summary.model_rows if models is None or row["model"] in models]
    return fitted(
        tr("{prompt}: {what}", prompt=clean(summary.run.prompt.name), what=titles),
        columns(summary, quantities_shown, rows),
        width,
        edges=edges,
    )


def best_first(summary: Summary) -> list[str]:
    """The models by what they are ranked by, the best first; last those of which nothing was scored."""
    first = quantities(summary)[0]
    worst = 1.0 if first.name == NON_COMPLIANCE else -1.0
    points = {model: one.point for model, one in first.estimates.items()}
    return sorted(points, key=lambda model: (points[model] is None, worst * (points[model] or 0.0)))


def columns(summary: Summary, shown: Sequence[Quantity], rows: Sequence[TableRow]) -> list[Column]:
    """The columns of the models: last to give way is what the models are ranked by, and the decision never does."""
    decision = Column(Key("decision"), [from_data(row["decision"] or "") for row in rows])
    several = any(row["decision"] not in ("only model", None) for row in rows)
    figures = [_quantity(quantity, rows, summary.confidence, first=quantity is shown[0]) for quantity in shown]
    return [
        Column(Key("model"), [named(row["model"]) for row in rows]),
        *([decision] if several else []),
        *chain.from_iterable(figures),
        Column(Key("unscored"), [str(row["unscored"]) for row in rows], 4),
        Column(Key("cost"), [money(row["cost_usd"]) for row in rows], 5),
        Column("p50", [seconds(row["latency_p50_ms"]) for row in rows], 6),
    ]


def _quantity(quantity: Quantity, rows: Sequence[TableRow], confidence: float, *, first: bool) -> list[Column]:
    """A quantity, and what it was computed from; of the ``first`` one the estimates always stay."""
    estimates = [quantity.estimates[row["model"]] for row in rows]
    is_claimed = not any(row["chosen_by_outcome"] for row in rows)
    few_mark = "*" if quantity.name == NON_COMPLIANCE and is_claimed else ""
    counts = [f"{one.count}{few_mark if 0 < one.cases < FEW else ''}" for one in estimates]
    count = Column(quantity.count_column, counts, 1 if first else 3)
    if not is_claimed:
        return [count]
    level = tr("{quantity} ({level} CI)", quantity=clean(shown(quantity.column), NAME), level=as_given(confidence))
    return [count, Column(level, [one.text() for one in estimates], 0 if first else 2)]
