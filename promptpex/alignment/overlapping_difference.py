"""The difference of a figure on two groups of outputs whose cases are partly the same.

What is hard in a case stays hard when the prompt is edited, so the figures of two runs go up and down together, and
their difference is known better than that of independent groups.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from promptpex.alignment.alignment_measures import CONFIDENCE, Observation
from promptpex.core.records import AlignmentFigures, CardFigure
from promptpex.stats import Interval, difference_of_intervals

ADDED = 4.0
"""Cases in which the two figures have nothing to do with each other that are added where they go together, as many as
Agresti and Caffo (2000, Am. Stat. 54:280) add to a difference of two shares: without them the interval is a point where
a handful of cases are alike in both."""

Compared = Literal["coverage", "ffr", "alignment", "bad"]
"""A figure of ``CardEffect``."""


def figure_of(figures: AlignmentFigures, name: Compared) -> CardFigure:
    """One of the figures."""
    return {
        "coverage": figures.coverage,
        "ffr": figures.ffr,
        "alignment": figures.alignment,
        "bad": figures.base_rate,
    }[name]


def difference(
    name: Compared,
    before: tuple[Sequence[Observation], AlignmentFigures],
    after: tuple[Sequence[Observation], AlignmentFigures],
) -> Interval:
    """The figure after less the one before, with an interval that knows which cases are in both.

    Each figure has its own interval, and the two are correlated as their linearised parts are, case by case
    (``difference_of_intervals``), a little less where few cases are in both. Without any in both this is the difference
    of independent groups.

    Args:
        before, after: the outputs, and ``figures_of`` them.
    """
    old, new = (_as_interval(figure_of(figures, name)) for _, figures in (before, after))
    if old.estimate is None or new.estimate is None:
        return difference_of_intervals(new, old)
    return difference_of_intervals(new, old, correlation=_correlation(_parts(name, *before), _parts(name, *after)))


def _correlation(first: dict[str, float], second: dict[str, float]) -> float:
    """How far two figures go together; a few cases that happen to agree throughout do not make it 1."""
    sizes = sum(part**2 for part in first.values()) * sum(part**2 for part in second.values())
    both = [cluster for cluster in first if cluster in second]
    if not both or sizes <= 0.0:
        return 0.0
    correlation = sum(first[cluster] * second[cluster] for cluster in both) / math.sqrt(sizes)
    return max(-1.0, correlation if correlation < 0.0 else min(1.0, correlation) * len(both) / (len(both) + ADDED))


def _parts(name: Compared, observations: Sequence[Observation], figures: AlignmentFigures) -> dict[str, float]:
    """What each case adds to the difference of a figure from its expectation, to first order."""
    coverage, ffr = figures.coverage.estimate, figures.ffr.estimate
    if name == "bad":
        return _share_parts([(one.cluster, one.is_bad) for one in observations], figures.base_rate.estimate)
    caught = _share_parts([(one.cluster, one.fails) for one in observations if one.is_bad], coverage)
    flagged = _share_parts([(one.cluster, one.fails) for one in observations if not one.is_bad], ffr)
    if name != "alignment":
        return caught if name == "coverage" else flagged
    assert coverage is not None
    assert ffr is not None
    pass_rate = 1.0 - ffr
    total = (coverage + pass_rate) ** 2
    parts: defaultdict[str, float] = defaultdict(float)
    for cluster, part in caught.items():
        parts[cluster] += 2.0 * pass_rate**2 / total * part
    for cluster, part in flagged.items():
        parts[cluster] -= 2.0 * coverage**2 / total * part
    return dict(parts)


def _share_parts(flags: Sequence[tuple[str, bool]], share: float | None) -> dict[str, float]:
    parts: defaultdict[str, float] = defaultdict(float)
    for cluster, flag in flags:
        parts[cluster] += (flag - (share or 0.0)) / len(flags)
    return dict(parts)


def _as_interval(figure: CardFigure) -> Interval:
    return Interval(figure.estimate, figure.low, figure.high, CONFIDENCE, figure.n, figure.method)
