"""A distribution as bars of an SVG, all in percent of its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.core.records import CardDistribution
from promptpex.core.translation import Key, tr, tr_n

LEFT, RIGHT, TOP, BOTTOM = 9.0, 99.0, 6.0, 84.0
"""Where the axes begin and end, in percent of the drawing."""
GAP = 0.12
"""The share of a bin that is left free between two bars."""

KINDS = ("good", "bad", "unlabelled")
KIND_NAMES = {"good": Key("good"), "bad": Key("bad"), "unlabelled": Key("unlabelled")}


@dataclass(frozen=True, slots=True)
class Place:
    """Where words stand, with the words."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """A piece of a bar: outputs of a kind in a bin, on top of those of the kinds before it."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """The parts of a drawing.

    Attributes:
        ticks_x, ticks_y: with the numbers of the axes.
        words: the whole drawing in a sentence.
    """

    name: str
    bars: tuple[HistogramBar, ...]
    ticks_x: tuple[Place, ...]
    ticks_y: tuple[Place, ...]
    words: str


def drawn_histogram(given: CardDistribution) -> Histogram:
    """The drawing of a distribution: a bar per bin, of good outputs below, bad ones on them, then those without a
    label."""
    counts = tuple(zip(given.good, given.bad, given.unlabelled, strict=True))
    most = max(map(sum, counts), default=0) or 1
    width = (RIGHT - LEFT) / len(counts)
    bars: list[HistogramBar] = []
    for place, each in enumerate(counts):
        bars += _bin(given, place, each, most, width)
    labelled = [place for place in range(len(given.edges)) if place % max(1, -(-len(given.edges) // 7)) == 0]
    return Histogram(
        name=given.name,
        bars=tuple(bars),
        ticks_x=tuple(Place(round(LEFT + width * place, 2), BOTTOM, f"{given.edges[place]:g}") for place in labelled),
        ticks_y=(Place(LEFT, BOTTOM, "0"), Place(LEFT, TOP, str(most))),
        words=_in_words(given),
    )


def _bin(given: CardDistribution, place: int, counts: Sequence[int], most: int, width: float) -> list[HistogramBar]:
    bars = []
    top = BOTTOM
    low, high = given.edges[place], given.edges[place + 1]
    for kind, count in zip(KINDS, counts, strict=True):
        if count:
            height = (BOTTOM - TOP) * count / most
            top -= height
            words = tr(
                "{low} to {high}: {count} {kind}",
                low=f"{low:g}",
                high=f"{high:g}",
                count=count,
                kind=KIND_NAMES[kind].tr(),
            )
            x = LEFT + width * (place + GAP / 2)
            bars.append(
                HistogramBar(
                    kind=kind,
                    x=round(x, 2),
                    y=round(top, 2),
                    width=round(width * (1 - GAP), 2),
                    height=round(height, 2),
                    words=words,
                )
            )
    return bars


def _in_words(given: CardDistribution) -> str:
    totals = [(kind, sum(getattr(given, kind))) for kind in KINDS]
    parts = [f"{count} {KIND_NAMES[kind].tr()}" for kind, count in totals if count]
    return tr(
        "{name} of {outputs} ({parts}), from {low} to {high}.",
        name=given.name,
        outputs=tr_n("{count} output", "{count} outputs", sum(count for _, count in totals)),
        parts=", ".join(parts),
        low=f"{given.edges[0]:g}",
        high=f"{given.edges[-1]:g}",
    )
