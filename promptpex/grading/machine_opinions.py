"""What the opinions of machines come to, item by item: counted once, and looked at after every grade."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from promptpex.grading.opinions import Opinion

Judgements = Mapping[tuple[str, str], Mapping[str, Literal["pass", "fail"]]]
"""By subject and judge, what the judge says of each item of which it says something."""


@dataclass(frozen=True, slots=True)
class MachineViews:
    """What machines say of the items of a pool, by the item's key; a key that is missing has no opinions.

    Attributes:
        sigma: selectivity-weighted confidence: high where the item is probably bad (``confidence``).
        divided: by subject, how much they contradict each other (``disagreement``), where they do.
        subjects: all that they speak of.
        judgements: what judges say.
    """

    sigma: Mapping[str, float] = field(default_factory=dict)
    divided: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    subjects: frozenset[str] = frozenset()
    judgements: Judgements = field(default_factory=dict)

    @classmethod
    def of(cls, opinions: Mapping[str, Sequence[Opinion]]) -> MachineViews:
        """The views that these opinions come to, those on graded items too, since they too make the selectivity."""
        selective = selectivity(opinions)
        judgements: defaultdict[tuple[str, str], dict[str, Literal["pass", "fail"]]] = defaultdict(dict)
        for item, each in opinions.items():
            for one in each:
                if one.source == "judge" and one.status != "none":
                    judgements[one.subject, one.judge].setdefault(item, one.status)
        return cls(
            {item: round(confidence(each, selective), 9) for item, each in opinions.items()},
            {item: {name: one for name, one in disagreement(each).items() if one} for item, each in opinions.items()},
            frozenset(subject for subject, _ in selective),
            judgements,
        )


def selectivity(opinions: Mapping[str, Sequence[Opinion]]) -> dict[tuple[str, str], float]:
    """By subject and assertion, the share of items that pass, of those on which it says something."""
    spoken: Counter[tuple[str, str]] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    for each in opinions.values():
        for opinion in each:
            if opinion.status != "none":
                spoken[opinion.subject, opinion.assertion] += 1
                passed[opinion.subject, opinion.assertion] += opinion.status == "pass"
    return {name: passed[name] / count for name, count in spoken.items()}


def confidence(opinions: Sequence[Opinion], selective: Mapping[tuple[str, str], float]) -> float:
    """sigma of an item: the summed selectivity of the assertions that fail it. High: probably bad."""
    return sum(selective[one.subject, one.assertion] for one in opinions if one.status == "fail")


def disagreement(opinions: Sequence[Opinion]) -> dict[str, float]:
    """By subject, how much the machines contradict each other: 0 where all say the same, 1 where they are split evenly.

    It is 4 p (1 - p), where p is the share of failures. Code, judges and candidates have one voice each, however many
    they are: p is the mean of the three shares.
    """
    failures: defaultdict[str, defaultdict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for one in opinions:
        if one.status != "none":
            failures[one.subject][one.source].append(one.status == "fail")
    divided = {}
    for subject, sources in failures.items():
        share = sum(sum(votes) / len(votes) for votes in sources.values()) / len(sources)
        divided[subject] = 4.0 * share * (1.0 - share)
    return divided
