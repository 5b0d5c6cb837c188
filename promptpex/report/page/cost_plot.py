"""What the models cost, against how often they break a rule: the plot of the report's page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from promptpex.report.caveats_in_words import FEW, scored_cases

WIDTH, HEIGHT = 640, 260
"""Of the plot without its axes, in units of the drawing."""

LOGARITHMIC = 20.0
"""Costs that are so many times as far apart are drawn on a logarithmic axis."""

LINE = 15
"""Units between two names at least."""

PER = 1_000
"""Outputs that a cost on the axis is of."""


@dataclass(frozen=True, slots=True)
class CostPoint:
    """A model on the plot: where its point, the ends of its interval and its name are."""

    model: str
    x: float
    y: float
    low: float
    high: float
    name_y: float
    leftward: bool
    few: bool


@dataclass(frozen=True, slots=True)
class CostPlot:
    """The plot; ticks with their places, of the costs as dollars per ``PER`` outputs, of the shares from 0 to 1."""

    points: tuple[CostPoint, ...]
    costs: tuple[tuple[float, float], ...]
    shares: tuple[tuple[float, float], ...]
    logarithmic: bool


def cost_plot(rows: Sequence[Mapping[str, Any]], axis: float) -> CostPlot | None:
    """The plot of a table of models; None where fewer than two have a cost and a share, or all cost the same.

    Args:
        rows: under ``tables.MODEL_COLUMNS``.
        axis: the share at the upper end.
    """
    priced_rows = [row for row in rows if row["cost_usd"] and row["outputs"] and row["non_compliance"] is not None]
    costs = [PER * row["cost_usd"] / row["outputs"] for row in priced_rows]
    if len(set(costs)) < 2:
        return None
    logarithmic = max(costs) / min(costs) > LOGARITHMIC
    ticks = list(_decades(min(costs), max(costs))) if logarithmic else list(_round_steps(max(costs)))
    place = partial(_place, first=ticks[0], last=ticks[-1], logarithmic=logarithmic)
    points = [_point(row, place(cost), axis) for row, cost in zip(priced_rows, costs, strict=True)]
    return CostPlot(
        points=tuple(_named(points)),
        costs=tuple((tick, place(tick)) for tick in ticks),
        shares=tuple((share * axis, _height(share * axis, axis)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)),
        logarithmic=logarithmic,
    )


def _point(row: Mapping[str, Any], x: float, axis: float) -> CostPoint:
    y, low, high = (_height(min(row[name], axis), axis) for name in ("non_compliance", "ci_low", "ci_high"))
    has_few = 0 < scored_cases(row) < FEW
    return CostPoint(row["model"], x, y, low, high, y + 4, leftward=x > 0.6 * WIDTH, few=has_few)


def _named(points: Sequence[CostPoint]) -> Iterator[CostPoint]:
    """The points, with names that would stand over each other moved down."""
    last = {True: -math.inf, False: -math.inf}
    for point in sorted(points, key=lambda one: one.name_y):
        name_y = max(point.name_y, last[point.leftward] + LINE)
        last[point.leftward] = name_y
        yield replace(point, name_y=round(name_y, 1))


def _height(share: float, axis: float) -> float:
    return round(HEIGHT * (1.0 - share / axis), 1)


def _place(cost: float, first: float, last: float, logarithmic: bool) -> float:
    """Where a cost is on the axis from ``first`` to ``last``."""
    cost, first, last = (math.log10(one) if logarithmic else one for one in (cost, first, last))
    return round(WIDTH * (cost - first) / (last - first), 1)


def _decades(least: float, most: float) -> Iterator[float]:
    """Powers of ten around the costs."""
    for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1):
        yield 10.0**power


def _round_steps(most: float) -> Iterator[float]:
    """0 and round costs, four at most, up to the first that is no less than ``most``."""
    power = 10.0 ** math.floor(math.log10(most / 4))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if 4 * factor * power >= most)
    for number in range(math.ceil(round(most / step, 9)) + 1):
        yield number * step
