"""Which item is graded next, by a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from promptpex.core.ids import digest
from promptpex.core.records import Example
from promptpex.grading.book import GradeBook
from promptpex.grading.opinions import Opinions
from promptpex.grading.subjects import Subject

RANDOM = "random"


@dataclass(frozen=True, slots=True)
class GradingState:
    """What a policy may look at.

    Attributes:
        pool: all items.
        book: what people have said so far.
        opinions: what machines say.
        subjects: those that people are asked about.
        seed: of the permanent random numbers.
        random: for what is drawn at this step.
    """

    pool: Sequence[Example]
    book: GradeBook
    opinions: Opinions
    subjects: Sequence[Subject]
    seed: int
    random: Random


@dataclass(frozen=True, slots=True)
class Chosen:
    """An item, by which policy it was chosen, and with which probability at this step; None where it is not known."""

    item: Example
    policy: str
    probability: float | None


def choose(policy: str, candidates: Sequence[Example], state: GradingState) -> Chosen:
    """The item to grade next among the candidates, of which there is at least one."""
    first = min(candidates, key=lambda item: random_number(state.seed, item.id))
    return Chosen(first, policy, 1 / len(candidates))


def random_number(seed: int, key: str) -> float:
    """The permanent random number of an item, from 0 to below 1 (Ohlsson 1995)."""
    return int(digest([seed, key], 13), 16) / 16**13
