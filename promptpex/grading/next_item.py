"""The next item: the policy's choice, or the random sample's turn, with the probability of what came about.

Which of the two it is, and what the policy draws, is decided by numbers made of the seed and the count of items that
are not open any more. So a restarted program offers what it offered before, and nobody gets another item by asking
again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from promptpex.core.records import Example
from promptpex.grading.book import GradeBook
from promptpex.grading.policies import DEFAULT_POLICY, Chances, Surroundings, probabilities
from promptpex.grading.random_sample import (
    RANDOM,
    RANDOM_SHARE,
    SEED,
    Turn,
    in_order,
    next_turn,
    number,
    policy_after,
    reached_by,
)


@dataclass(frozen=True, slots=True)
class GradingState:
    """What a choice rests on.

    Attributes:
        pool: all items.
        book: what people have said so far.
        sigma: what the opinions of machines come to, ``machine_opinions.sigmas``.
        seed: of the permanent random numbers.
        held: the items that others are grading just now, by their ids, each with the policy that chose it.
    """

    pool: Sequence[Example]
    book: GradeBook
    sigma: Mapping[str, float]
    seed: int = SEED
    held: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chosen:
    """An item to be graded.

    Attributes:
        item: the item.
        policy: what chose it, as a grade records it: ``random``, a policy's name, or that and whose turn it used up.
        probability: with which it was chosen at this step, where the turn and the numbers of items that the sample has
            not reached are left to chance.
    """

    item: Example
    policy: str
    probability: float


def choose(policy: str, candidates: Sequence[Example], state: GradingState, *, share: float = RANDOM_SHARE) -> Chosen:
    """The item to grade next among the candidates, of which there is at least one.

    Args:
        policy: one of ``POLICIES``.
        candidates: the items of the pool that are open: neither graded nor held by others.
        state: what the choice rests on.
        share: how often it is the random sample's turn; 1 for the policy ``random``.

    Raises:
        InputError: no policy is called that.
    """
    items = {item.id: item for item in candidates}
    order = in_order((item.id for item in state.pool), state.seed)
    graded = frozenset(order) - items.keys() - state.held.keys()
    progress = GradingProgress(order, graded, reached_by(state.book.grades, state.held), state.held)
    draw = draw_next(
        progress, Surroundings(state.sigma, len(state.pool) - len(items)), policy, share=share, seed=state.seed
    )
    return Chosen(items[draw.item], draw.policy, draw.probability)


@dataclass(frozen=True, slots=True)
class GradingProgress:
    """How far grading has come, by the keys of the items.

    Attributes:
        order: the pool, as ``random_sample.in_order`` has it.
        graded: those that need no grade any more.
        reached: those whose turn in the random sample has come, by what is graded and what is in hand:
            ``random_sample.reached_by``.
        in_hand: those that somebody else is grading just now.
    """

    order: Sequence[str]
    graded: Collection[str] = frozenset()
    reached: Collection[str] = frozenset()
    in_hand: Collection[str] = frozenset()

    @property
    def open(self) -> tuple[str, ...]:
        """The keys that can be chosen."""
        return tuple(key for key in self.order if key not in self.graded and key not in self.in_hand)


@dataclass(frozen=True, slots=True)
class Draw:
    """A ``Chosen`` whose item is known by its key alone."""

    item: str
    policy: str
    probability: float


def draw_next(
    progress: GradingProgress,
    around: Surroundings,
    policy: str = DEFAULT_POLICY,
    *,
    share: float = RANDOM_SHARE,
    seed: int = SEED,
) -> Draw:
    """The next of the open items, of which there is at least one.

    What the random sample has reached and what still waits for a grade comes first: taken back, on words that have
    changed, or not asked about the subject yet. Would the policy choose among these, the sample would hold too many of
    its choices until all are graded.

    Args:
        progress: how far grading has come.
        around: what the policy looks at; its ``step`` should grow with each item that is chosen.
        policy: one of ``POLICIES``.
        share: how often it is the random sample's turn; 1 for the policy ``random``.
        seed: of everything that is left to chance.

    Raises:
        InputError: no policy is called that.
    """
    chances = probabilities(policy, progress.open, around)
    turn = next_turn(progress.order, progress.graded, progress.reached, progress.in_hand)
    if turn.item and turn.item in progress.reached:
        return Draw(turn.item, RANDOM, 1.0)
    share = 1.0 if policy == RANDOM else share
    name, item = policy, ""
    if number(str(around.step), seed, "turn") < share:
        name = policy_after(policy, turn.used_by) if turn.used_by else RANDOM
        item = turn.item
    item = item or _drawn(chances, number(str(around.step), seed, "draw"))
    return Draw(item, name, mixture(progress, turn, chances, share)[item])


def mixture(progress: GradingProgress, turn: Turn, chances: Chances, share: float) -> Chances:
    """The probability of each open item at a step, the random sample's share included; they sum to 1.

    An item that the sample has reached and that waits for a grade comes first. Otherwise each item that it has not
    reached is as likely its next; one that is graded or in hand uses up the turn.

    Args:
        progress: how far grading has come.
        turn: what the sample would do.
        chances: the policy's, ``probabilities`` of the open items.
        share: how often it is the sample's turn.
    """
    if turn.item and turn.item in progress.reached:
        return {item: float(item == turn.item) for item in chances}
    waiting = sum(key not in progress.reached for key in progress.order)
    each = share / waiting if waiting else 0.0
    fresh = {item for item in chances if item not in progress.reached}
    rest = 1.0 - each * len(fresh)
    return {item: rest * chance + each * (item in fresh) for item, chance in chances.items()}


def _drawn(chances: Chances, point: float) -> str:
    """The item at a point from 0 to 1 of the probabilities, laid end to end in the order of the keys."""
    *others, last = sorted(item for item, chance in chances.items() if chance > 0)
    for item in others:
        point -= chances[item]
        if point < 0:
            return item
    return last
