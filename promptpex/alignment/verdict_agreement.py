"""Verdicts of a run held against people: all of them together, and checks and judges rule by rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from promptpex.alignment.alignment_measures import Observation, figures_of
from promptpex.alignment.card_data import ALL_VERDICTS, CardData
from promptpex.core.records import OUTPUT_SUBJECT, CardRow, Example, RowKind
from promptpex.grading.opinions import Opinion


@dataclass(frozen=True)
class HeldVerdicts:
    """What one assertion says, or all verdicts together, against what people say of a subject.

    Attributes:
        assertion: as in ``Opinion``; ``ALL_VERDICTS`` for all together.
        kind, subject, by: as in ``CardRow``.
        fails: by the id of an output, whether it fails; None where the assertion says nothing.
    """

    data: CardData
    kind: RowKind
    assertion: str
    subject: str
    by: tuple[str, ...]
    fails: Mapping[str, bool | None]

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """What it has in common with the same assertion on other outputs."""
        return self.kind, self.subject, self.by

    @property
    def in_choice(self) -> int:
        """Labelled outputs that do not count, since their grades had a part in choosing the check."""
        chose = self._chose
        return sum(one.id in self.fails and one.id in chose for one, _ in self.data.graded.labelled(self.subject))

    @property
    def is_sampled(self) -> bool:
        """Whether there is a random sample."""
        return bool(self.data.graded.sample(self.subject))

    def observations(self, *, sampled: bool = False) -> tuple[list[Observation], int]:
        """What people and the assertion say of the outputs that measure it, and of how many it says nothing.

        Args:
            sampled: of the random sample alone.
        """
        sample = self.data.graded.sample(self.subject) if sampled else None
        chose = self._chose

        def measures(item: Example) -> bool:
            measures_it = item.id in self.fails and item.id not in chose and not self._is_shown(item)
            return measures_it and (sample is None or item.id in sample)

        return self.data.graded.observations(self.subject, self._failed, measures)

    def row(self) -> CardRow:
        """The figures, on grades that had no part in choosing what gave the verdicts."""
        graded, (observations, silent) = self.data.graded, self.observations()
        chose = self._chose
        labelled = [one for one, _ in graded.labelled(self.subject) if one.id in self.fails]
        return CardRow(
            kind=self.kind,
            measured="held-out",
            id="" if self.kind == "verdicts" else self.subject,
            subject=self.subject,
            text=graded.book.subjects[self.subject].text,
            by=self.by,
            graded=figures_of(observations),
            sample=figures_of(self.observations(sampled=True)[0]) if self.is_sampled else None,
            on_whole=None if self.subject == OUTPUT_SUBJECT else graded.on_whole(self._failed),
            silent=silent,
            in_choice=self.in_choice,
            shown=sum(self._is_shown(one) and one.id not in chose for one in labelled),
        )

    @property
    def _chose(self) -> frozenset[str]:
        return self.data.in_choice.get(self.assertion, frozenset())

    def _failed(self, item: Example) -> bool | None:
        return self.fails.get(item.id)

    def _is_shown(self, item: Example) -> bool:
        if self.kind == "check" and not self.by[0].startswith("judges:"):
            return False
        needs = self.data.graded.book.subjects[self.subject].needs
        return any(one.may_have_shown(item, needs) for one in self.data.manifests)


def held_verdicts(data: CardData) -> Iterator[HeldVerdicts]:
    """All verdicts of the run together, against grades on the whole output, then checks and judges rule by rule."""
    if data.broken:
        yield HeldVerdicts(data, "verdicts", ALL_VERDICTS, OUTPUT_SUBJECT, (), data.broken)
    fails: dict[tuple[str, str], dict[str, bool | None]] = {}
    first: dict[tuple[str, str], Opinion] = {}
    for item, opinions in data.opinions.items():
        for one in opinions:
            if one.source != "candidate":
                first.setdefault((one.subject, one.assertion), one)
                fails.setdefault((one.subject, one.assertion), {})[item] = _fails(one)
    order = {name: place for place, name in enumerate(data.graded.book.subjects)}
    for key in sorted(fails, key=lambda key: (order.get(key[0], 0), first[key].source, key)):
        one = first[key]
        by = f"judge:{one.judge}" if one.source == "judge" else one.assertion.removeprefix(f"{one.subject} ")
        yield HeldVerdicts(data, "judge" if one.source == "judge" else "check", key[1], key[0], (by,), fails[key])


def _fails(one: Opinion) -> bool | None:
    return None if one.status == "none" else one.status == "fail"
