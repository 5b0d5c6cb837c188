"""The curve of coverage against FFR as lines and points of an SVG, all in percent of its size.

Lines with ends in percent need no script and no ``viewBox``: the drawing is as wide as the page, and its words stay as
large as the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from promptpex.core.translation import tr
from promptpex.report.choices.records import PageCurve
from promptpex.report.percentages import as_given, limits_of_choice, percent

LEFT, RIGHT, TOP, BOTTOM = 11.0, 96.0, 9.0, 86.0
"""Where the axes begin and end, in percent of the drawing; what is left has room for their numbers."""

AXES = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Ends of the axis of the FFR: the first that all of it fits in."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line from one place to another."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Place:
    """A point, or where words stand, with its words."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class DrawnCurve:
    """The parts of the drawing.

    Attributes:
        ticks_x, ticks_y: with the numbers of the axes.
        steps: the curve.
        points: its points, with their figures.
        limits: lines of the two limits; ``limit_words`` stand at them.
        chosen, held_out: None where they are not known.
        words: the whole drawing in a sentence or two.
    """

    ticks_x: tuple[Place, ...]
    ticks_y: tuple[Place, ...]
    steps: tuple[Line, ...]
    points: tuple[Place, ...]
    limits: tuple[Line, Line]
    limit_words: tuple[Place, Place]
    chosen: Place | None
    held_out: Place | None
    words: str


def drawn(curve: PageCurve) -> DrawnCurve:
    """The drawing of a curve."""
    end = _axis_end(curve)

    def x(ffr: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * min(ffr, end) / end, 2)

    def y(coverage: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * coverage, 2)

    def place(ffr: float, coverage: float, words: str) -> Place:
        return Place(x(ffr), y(coverage), words)

    points = tuple(place(one.ffr, one.coverage, _figures(one.ffr, one.coverage)) for one in curve.points)
    corners = [(one.x, one.y) for one in points]
    steps = [Line(a[0], a[1], b[0], a[1]) for a, b in pairwise(corners)]
    steps += [Line(b[0], a[1], b[0], b[1]) for a, b in pairwise(corners)]
    if corners:
        steps.append(Line(*corners[-1], RIGHT, corners[-1][1]))
    across, up = y(curve.coverage_limit), x(curve.ffr_limit)
    of_sets = curve.coverage_limit > 0.0
    return DrawnCurve(
        ticks_x=tuple(Place(x(end * part / 5), BOTTOM, percent(round(end * part / 5, 3))) for part in range(6)),
        ticks_y=tuple(Place(LEFT, y(part / 4), percent(part / 4)) for part in range(5)),
        steps=tuple(steps),
        points=points,
        limits=(Line(LEFT, across, RIGHT, across), Line(up, TOP, up, BOTTOM)),
        limit_words=(
            Place(RIGHT, across, tr("least coverage {share}", share=as_given(curve.coverage_limit)) if of_sets else ""),
            Place(up, BOTTOM, _highest_ffr(as_given(curve.ffr_limit), of_sets=of_sets)),
        ),
        chosen=place(*curve.chosen, tr("chosen: {figures}", figures=_figures(*curve.chosen))) if curve.chosen else None,
        held_out=place(*curve.held_out, tr("held out: {figures}", figures=_figures(*curve.held_out)))
        if curve.held_out
        else None,
        words=_in_words(curve),
    )


def _axis_end(curve: PageCurve) -> float:
    marked = [one[0] for one in (curve.chosen, curve.held_out) if one is not None]
    widest = max([1.2 * curve.ffr_limit, *marked, *(one.ffr for one in curve.points)])
    return next((end for end in AXES if widest <= end), AXES[-1])


def _figures(ffr: float, coverage: float) -> str:
    return tr("coverage {coverage} at an FFR of {ffr}", coverage=percent(coverage), ffr=percent(ffr))


def _highest_ffr(share: str, *, of_sets: bool) -> str:
    return tr("highest FFR {share}", share=share) if of_sets else tr("highest FFR of each {share}", share=share)


def _in_words(curve: PageCurve) -> str:
    if not curve.points:
        return tr("No curve.")
    first, last = curve.points[0], curve.points[-1]
    parts = [
        tr(
            "The most coverage at each FFR rises from {first} at {first_ffr} to {last} at {last_ffr}.",
            first=percent(first.coverage),
            first_ffr=percent(first.ffr),
            last=percent(last.coverage),
            last_ffr=percent(last.ffr),
        ),
        tr("Limits: {limits}.", limits=limits_of_choice(curve.coverage_limit, curve.ffr_limit)),
    ]
    if curve.chosen is not None and curve.held_out is not None:
        chosen, held_out = _figures(*curve.chosen), _figures(*curve.held_out)
        parts.append(tr("The choice has {figures}, held out {held_out}.", figures=chosen, held_out=held_out))
    elif curve.chosen is not None:
        parts.append(tr("The choice has {figures}.", figures=_figures(*curve.chosen)))
    return " ".join(parts)
