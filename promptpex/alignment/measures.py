"""Coverage, false failure rate, alignment and kappa of an assertion, or of a set, with intervals.

The terms are EvalGen's (arXiv 2404.12272). Its section 4.2 calls alignment the harmonic mean of coverage and the false
failure rate, its appendix A.3 that of coverage and 1 - FFR; the second is meant, and gives the numbers of its tables.

What is hard in a case stays hard when the prompt is edited, so the figures of two runs go up and down together, and
their difference is known better than that of independent groups.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from promptpex.core.records import AlignmentFigures, CardFigure, ConfusionCounts, Undefined
from promptpex.stats import Interval, clustered_agreement, difference_of_intervals, harmonic_mean, korn_graubard

CONFIDENCE = 0.95

_Table = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Observation:
    """An output with a label, and what an assertion says of it.

    Attributes:
        cluster: what it shares with outputs that are like it, such as its case.
    """

    is_bad: bool
    fails: bool
    cluster: str


def figures_of(
    observations: Iterable[Observation], confidence: float = CONFIDENCE, *, worth: float = 1.0
) -> AlignmentFigures:
    """The figures of an assertion on these outputs.

    Coverage, FFR and base rate have ``korn_graubard``'s interval, which knows that outputs of a case are alike;
    alignment, 2C(1 - F) / (C + 1 - F), has that of ``harmonic_mean``, kappa that of ``clustered_agreement``.

    Args:
        worth: as for ``korn_graubard``; but not for the base rate, which no choice has a part in.
    """
    tables = _tables(observations)
    caught, missed, flagged, passed_good = (sum(table[row][column] for table in tables) for row, column in _CELLS)
    counts = ConfusionCounts(caught=caught, missed=missed, flagged=flagged, kept=passed_good)
    coverage = korn_graubard([bad[0] for bad, _ in tables], [sum(bad) for bad, _ in tables], confidence, worth=worth)
    ffr = korn_graubard([good[0] for _, good in tables], [sum(good) for _, good in tables], confidence, worth=worth)
    base_rate = korn_graubard(
        [sum(bad) for bad, _ in tables], [sum(bad) + sum(good) for bad, good in tables], confidence
    )
    unknown = Interval(None, -1.0, 1.0, confidence, 0, "")
    kappa = clustered_agreement(tables, confidence, worth=worth).kappa if tables else unknown
    return AlignmentFigures(
        counts=counts,
        cases=len(tables),
        coverage=as_figure(coverage),
        ffr=as_figure(ffr),
        alignment=as_figure(harmonic_mean(coverage, _rest(ffr))),
        kappa=as_figure(kappa),
        base_rate=as_figure(base_rate),
        undefined=tuple(_undefined(counts, kappa)),
    )


def share_of(flags: Iterable[tuple[str, bool]], confidence: float = CONFIDENCE) -> CardFigure:
    """The share of outputs of which something holds."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for cluster, holds in flags:
        counts[cluster][0] += holds
        counts[cluster][1] += 1
    return as_figure(korn_graubard([ones for ones, _ in counts.values()], [n for _, n in counts.values()], confidence))


_CELLS = ((0, 0), (0, 1), (1, 0), (1, 1))


def as_figure(interval: Interval) -> CardFigure:
    return CardFigure(
        estimate=interval.estimate, low=interval.low, high=interval.high, n=interval.n, method=interval.method
    )


def _tables(observations: Iterable[Observation]) -> Sequence[_Table]:
    """Per cluster the bad outputs that fail and pass, and the good ones that do."""
    cells: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for one in observations:
        cells[one.cluster][2 * (not one.is_bad) + (not one.fails)] += 1
    return [
        ((bad_fail, bad_pass), (good_fail, good_pass)) for bad_fail, bad_pass, good_fail, good_pass in cells.values()
    ]


def _rest(share: Interval) -> Interval:
    estimate = None if share.estimate is None else 1.0 - share.estimate
    return Interval(estimate, 1.0 - share.high, 1.0 - share.low, share.confidence, share.n, share.method)


def _undefined(counts: ConfusionCounts, kappa: Interval) -> Iterable[Undefined]:
    if not counts.bad and not counts.good:
        yield "no-labels"
        return
    if not counts.bad:
        yield "no-bad"
    if not counts.good:
        yield "no-good"
    if counts.bad and counts.good and not counts.caught and not counts.kept:
        yield "zero"
    if kappa.estimate is None:
        yield "one-answer"


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
