"""The table of outputs and assertions, and how measures of outputs are distributed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from promptpex.alignment.graded_outputs import GradedItems
from promptpex.core.records import OUTPUT_SUBJECT, CardColumn, CardDistribution, CardOutput, Example
from promptpex.grading.book import Joint
from promptpex.grading.opinions import Opinion, Opinions

EXCERPT = 200
"""Characters of an output in the table; the CSV has all of it."""
BINS = 12
"""Bins of a histogram at most: as many bars as a phone can show."""

_SIGNS = {"pass": "p", "fail": "f", "none": "e"}
_STEPS = (1, 2, 5, 10)


def columns_of(opinions: Opinions, chosen: Collection[str]) -> tuple[CardColumn, ...]:
    """A column for each assertion that says anything: chosen candidates first, then checks, judges, other candidates.

    Args:
        chosen: ids of the candidates of the set.
    """
    first: dict[tuple[str, str], Opinion] = {}
    for each in opinions.values():
        for one in each:
            first.setdefault((one.assertion, one.source), one)
    columns = [
        CardColumn(
            id=one.assertion,
            subject=one.subject,
            by=f"{one.source}:{one.judge}" if one.judge else one.source,
            chosen=one.source == "candidate" and one.assertion in chosen,
        )
        for one in first.values()
    ]
    order = ("check", "judge", "candidate")
    return tuple(
        sorted(columns, key=lambda one: (not one.chosen, order.index(one.by.partition(":")[0]), one.subject, one.id))
    )


def outputs_of(
    graded: GradedItems,
    opinions: Opinions,
    columns: Sequence[CardColumn],
    measures: Mapping[str, Mapping[str, float]],
) -> tuple[CardOutput, ...]:
    """The rows of the table, in the order of the outputs."""
    sample = graded.sample(OUTPUT_SUBJECT)
    return tuple(
        CardOutput(
            id=item.id,
            name=item.name,
            label=_label(item, graded.book.joint(item)),
            how=item.label_from,
            sampled=item.id in sample,
            cells=_cells(opinions.get(item.id, ()), columns),
            measures={name: values[item.id] for name, values in measures.items() if item.id in values},
            text=item.output[:EXCERPT],
        )
        for item in graded.items
    )


def _label(item: Example, joint: Joint) -> str:
    if item.label is not None:
        return item.label
    return ("disputed" if joint.disputed else "unsure") if joint.graded else ""


def _cells(opinions: Sequence[Opinion], columns: Sequence[CardColumn]) -> str:
    signs = {one.assertion: _SIGNS[one.status] for one in opinions}
    return "".join(signs.get(column.id, "-") for column in columns)


def distributions_of(graded: GradedItems, measures: Mapping[str, Mapping[str, float]]) -> tuple[CardDistribution, ...]:
    """A histogram of each measure, of good, bad and other outputs."""
    return tuple(_distribution(name, graded.items, values) for name, values in measures.items() if values)


def _distribution(name: str, items: Sequence[Example], values: Mapping[str, float]) -> CardDistribution:
    edges = edges_of(min(values.values()), max(values.values()))
    counts: dict[str | None, list[int]] = {label: [0] * (len(edges) - 1) for label in ("good", "bad", None)}
    for item in items:
        if item.id in values:
            counts[item.label][_bin(values[item.id], edges)] += 1
    return CardDistribution(
        name=name, edges=edges, good=tuple(counts["good"]), bad=tuple(counts["bad"]), unlabelled=tuple(counts[None])
    )


def edges_of(low: float, high: float, most: int = BINS) -> tuple[float, ...]:
    """The edges of at most so many bins of one round width (1, 2 or 5 times a power of ten) that hold all values."""
    if high <= low:
        return (low, low + 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    width = next(step * power for step in (*_STEPS, 20, 50) if _bins(low, high, step * power) <= most)
    start = math.floor(low / width)
    return tuple(round((start + place) * width, 12) for place in range(_bins(low, high, width) + 1))


def _bins(low: float, high: float, width: float) -> int:
    return max(1, math.ceil(high / width) - math.floor(low / width))


def _bin(value: float, edges: Sequence[float]) -> int:
    return next((place for place, (_, end) in enumerate(pairwise(edges)) if value < end), len(edges) - 2)
