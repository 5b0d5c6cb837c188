"""What people say of outputs, as sets of numbers that choices and figures are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from promptpex.alignment.choose import GradedOutputs
from promptpex.alignment.cross_fit import as_bits
from promptpex.alignment.measures import Observation, share_of
from promptpex.core.records import (
    OUTPUT_SUBJECT,
    CardColumn,
    CardDistribution,
    CardLabels,
    CardOutput,
    ConfusionCounts,
    Example,
)
from promptpex.grading.book import GradeBook, Joint
from promptpex.grading.labels import Label
from promptpex.grading.next_item import Opinion, Opinions


def with_labels(items: Iterable[Example], book: GradeBook) -> tuple[Example, ...]:
    """The items with the labels that grades give them now; those of a table that people filled in stay."""

    def one(item: Example) -> Example:
        if item.from_table:
            return item
        joint = book.joint(item)
        is_known = (item.label, item.label_from) == (joint.label, joint.how)
        return item if is_known else item.replace(label=joint.label, label_from=joint.how)

    return tuple(map(one, items))


def each_text_once(items: Iterable[Example]) -> tuple[Example, ...]:
    by_text: dict[str, Example] = {}
    for item in items:
        by_text.setdefault(item.output, item)
    return tuple(by_text.values())


def measured_outputs(items: Sequence[Example], book: GradeBook) -> int:
    """The items, as bits, that measure what a model wrote: not those whose grades its author may have been shown."""
    return as_bits(number for number, item in enumerate(items) if not may_be_seen(item, book))


def may_be_seen(item: Example, book: GradeBook) -> bool:
    return item.is_shown and bool(book.holding(item))


def graded_outputs(items: Sequence[Example], book: GradeBook, criterion_of: Mapping[str, str]) -> GradedOutputs:
    """What people say of the items: on the whole by their labels, on each rule or criterion by grades on it itself."""
    own: dict[str, tuple[int, int]] = {}
    for subject in book.subjects:
        if subject == OUTPUT_SUBJECT:
            continue
        joints = [book.joint(item, subject) for item in items]
        labels = [None if joint.derived else joint.label for joint in joints]
        bad, good = _numbers(labels, "bad"), _numbers(labels, "good")
        if bad or good:
            own[criterion_of.get(subject, subject)] = (bad, good)
    whole = [item.label for item in items]
    return GradedOutputs(_numbers(whole, "bad"), _numbers(whole, "good"), own)


def _numbers(labels: Sequence[Label | None], wanted: Label) -> int:
    return as_bits(number for number, label in enumerate(labels) if label == wanted)


Labelled = tuple[tuple[Example, Label], ...]
"""Items with their labels."""


@dataclass(frozen=True)
class GradedItems:
    """Items that assertions are held against people on."""

    items: tuple[Example, ...]
    book: GradeBook
    _samples: dict[str, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)
    _labelled: dict[str, Labelled] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def of_runs(self) -> tuple[Example, ...]:
        """The items that figures for all outputs are of: those of the runs; all of them where none is of a run."""
        return tuple(item for item in self.items if not item.put_up) or self.items

    @cached_property
    def of_production(self) -> GradedItems | None:
        """The items of production, where there are others besides."""
        items = tuple(item for item in self.items if item.put_up)
        return GradedItems(items, self.book) if items and len(items) < len(self.items) else None

    def of(self, subject: str) -> tuple[Example, ...]:
        """The items that a subject is graded of: where the output alone decides, each text once."""
        if subject == OUTPUT_SUBJECT or self.book.subjects[subject].needs != "output":
            return self.items
        return each_text_once(self.items)

    def labelled(self, subject: str) -> Labelled:
        """The items of a subject of which people say something, with what they say."""
        if subject not in self._labelled:
            labels = ((item, self._label(item, subject)) for item in self.of(subject))
            self._labelled[subject] = tuple((item, label) for item, label in labels if label is not None)
        return self._labelled[subject]

    def _label(self, item: Example, subject: str) -> Label | None:
        return item.label if subject == OUTPUT_SUBJECT else self.book.joint(item, subject).label

    def sample(self, subject: str) -> frozenset[str]:
        """The ids of the random sample of ``of_runs``, for a subject: what production adds leaves it as it is."""
        if subject not in self._samples:
            self._samples[subject] = frozenset(item.id for item in self.book.random_sample(subject, self.of_runs))
        return self._samples[subject]

    def observations(
        self, subject: str, fails: Callable[[Example], bool | None], among: Callable[[Example], bool] = lambda _: True
    ) -> tuple[list[Observation], int]:
        """What people and an assertion say on a subject, and of how many labelled outputs it says nothing.

        Args:
            fails: whether an item fails it; None where it does not say.
            among: the items that count.
        """
        observations, silent = [], 0
        for item, label in self.labelled(subject):
            if not among(item):
                continue
            failed = fails(item)
            if failed is None:
                silent += 1
            else:
                observations.append(Observation(label == "bad", failed, item.cluster))
        return observations, silent

    def on_whole(self, fails: Callable[[Example], bool | None]) -> ConfusionCounts:
        """How often people say what of the whole output, and the assertion what."""
        cells = [0, 0, 0, 0]
        for item, label in self.labelled(OUTPUT_SUBJECT):
            failed = fails(item)
            if failed is not None:
                cells[2 * (label == "good") + (not failed)] += 1
        return ConfusionCounts(caught=cells[0], missed=cells[1], flagged=cells[2], kept=cells[3])

    def labels(self, subject: str) -> CardLabels:
        """How many labels there are of a subject, and what the random sample says of it."""
        items, sample = self.of(subject), self.sample(subject)
        counts = self.book.counts(subject, items)
        tables = sum(item.from_table for item in items) if subject == OUTPUT_SUBJECT else 0
        labels = [label for _, label in self.labelled(subject)]
        known_labels = [(item.cluster, label == "bad") for item, label in self.labelled(subject) if item.id in sample]
        bad = sum(is_bad for _, is_bad in known_labels)
        return CardLabels(
            subject=subject,
            text=self.book.subjects[subject].text,
            outputs=len(items),
            good=labels.count("good"),
            bad=labels.count("bad"),
            unsure=counts.unsure,
            disputed=counts.disagree,
            derived=counts.derived,
            stale=counts.stale,
            from_table=tables,
            sampled=sum(item.id in sample for item in items),
            sampled_bad=bad,
            sampled_good=len(known_labels) - bad,
            bad_share=share_of(known_labels) if known_labels else None,
        )


EXCERPT = 200
"""Characters of an output in the table; the CSV has all of it."""
BINS = 12
"""Bins of a histogram at most: as many bars as a phone can show."""

_SIGNS = {"pass": "p", "fail": "f", "none": "e"}
_STEPS = (1, 2, 5, 10)


def columns_of(opinions: Opinions, chosen: Collection[str]) -> tuple[CardColumn, ...]:
    """A column for each assertion that says anything: chosen candidates, then checks, judges, other candidates."""
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
