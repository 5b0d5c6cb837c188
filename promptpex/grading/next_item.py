"""The next item: the policy's choice, or the random sample's turn, with the probability of what came about.

Which of the two it is, and what the policy draws, is decided by numbers made of the seed and the count of items that
are not open any more. So a restarted program offers what it offered before, and nobody gets another item by asking
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from promptpex.codecs.text.wording import did_you_mean, with_hint
from promptpex.core.errors import InputError
from promptpex.core.records import Example
from promptpex.core.translation import tr_n
from promptpex.grading.book import GradeBook
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
class Opinion:
    """What a check, a judge or a candidate says of an item.

    Attributes:
        assertion: its name, unique within its subject: a rule's id with its source, or a candidate's id.
        subject: the id of the subject that it speaks of.
        source: what kind of machine it is.
        judge: the judge's label; empty where none was asked.
        status: ``none``: it does not say, such as for an error or where a rule does not concern the output.
        reason: in words.
    """

    assertion: str
    subject: str
    source: Literal["check", "judge", "candidate"]
    judge: str = ""
    status: Literal["pass", "fail", "none"] = "none"
    reason: str = ""


Opinions = Mapping[str, tuple[Opinion, ...]]
"""All opinions by the item's id."""


def sigmas(opinions: Mapping[str, Sequence[Opinion]]) -> dict[str, float]:
    """Selectivity-weighted confidence by the item's key: high where the item is probably bad.

    Opinions on graded items count too, since they too make the selectivity.
    """
    selective = selectivity(opinions)
    return {item: round(confidence(each, selective), 9) for item, each in opinions.items()}


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


DEFAULT_POLICY = "alternating"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a policy may look at besides the items themselves. Nothing in it tells of the items' random numbers.

    Attributes:
        sigma: by the item's key, high where it is probably bad; 0 where it is not named.
        step: how many items have been chosen before.
    """

    sigma: Mapping[str, float] = field(default_factory=dict)
    step: int = 0


Chances = dict[str, float]


def probabilities(policy: str, items: Collection[str], around: Surroundings) -> Chances:
    """With which probability the policy chooses each of the open items; they sum to 1, and are none where none is open.

    The share that every policy leaves to the random sample is not in them: ``next_item`` mixes it in.
    """
    require_policy(policy)
    return POLICIES[policy](tuple(dict.fromkeys(items)), around) if items else {}


def require_policy(name: str) -> None:
    """Refuses the name of a policy that there is not."""
    if name not in POLICIES:
        hint = did_you_mean(name, POLICIES)
        raise InputError(with_hint(f"no policy is called {name!r}: there are {', '.join(POLICIES)}", hint))


def _even(items: Sequence[str], around: Surroundings) -> Chances:
    return dict.fromkeys(items, 1.0 / len(items))


def _greatest(items: Sequence[str], around: Surroundings) -> Chances:
    return _extreme(items, around, 1.0)


def _least(items: Sequence[str], around: Surroundings) -> Chances:
    return _extreme(items, around, -1.0)


def _extreme(items: Sequence[str], around: Surroundings, sign: float) -> Chances:
    """All items of the extreme score, to within rounding, in equal shares."""
    scores = {item: sign * around.sigma.get(item, 0.0) for item in items}
    best = max(scores.values())
    count = sum(score == best for score in scores.values())
    return {item: float(score == best) / count for item, score in scores.items()}


def _alternating(items: Sequence[str], around: Surroundings) -> Chances:
    return _extreme(items, around, -1.0 if around.step % 2 else 1.0)


POLICIES: dict[str, Callable[[Sequence[str], Surroundings], Chances]] = {
    DEFAULT_POLICY: _alternating,
    "highest": _greatest,
    "lowest": _least,
    RANDOM: _even,
}
"""By name; the default first."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far grading is.

    Attributes:
        items: in the pool.
        done: items of which all that is asked has been graded by somebody who counts.
        mine: items of which this grader has graded something that still holds.
        stale: items with grades on older words that wait for new ones.
        disputed: items whose graders disagree.
        unsure: items of which all who graded them are unsure.
        unseen: items that others have done and this grader has not seen.
        begun: items that are not done, and of which something has been graded.
    """

    items: int
    done: int = 0
    mine: int = 0
    stale: int = 0
    disputed: int = 0
    unsure: int = 0
    unseen: int = 0
    begun: int = 0


def progress_of(book: GradeBook, items: Sequence[Example], ask: Sequence[str], grader: str) -> Progress:
    """How far the grading of these items is, for one grader."""
    kinds = [_kinds(book, item, ask, grader) for item in book.having_grades(items)]
    return Progress(len(items), *map(sum, zip(*kinds, strict=True)))


def is_unseen(book: GradeBook, item: Example, ask: Sequence[str], grader: str) -> bool:
    """Whether others have done the item and this grader has not graded any of it."""
    joints = [book.joint(item, name) for name in ask]
    return all(joint.graded for joint in joints) and not any(
        vote.grader == grader for joint in joints for vote in joint.votes
    )


def _kinds(book: GradeBook, item: Example, ask: Sequence[str], grader: str) -> tuple[bool, ...]:
    """As the fields of ``Progress``, for one item."""
    joints = [book.joint(item, name) for name in ask]
    holding, all_graded = book.holding(item), all(joint.graded for joint in joints)
    return (
        all_graded,
        any(grade.grader == grader for grade in holding),
        any(book.joint(item, name).stale for name in book.subjects) if book.has_stale else False,
        any(joint.disputed for joint in joints),
        any(joint.graded and joint.label is None and not joint.disputed for joint in joints),
        is_unseen(book, item, ask, grader),
        bool(holding) and not all_graded,
    )


def missing_grades_sentence(subject: str, count: int) -> str:
    """That outputs which are bad on the whole have no grade on a subject, and how to give it."""
    return tr_n(
        "{count} bad output is still to be graded on {subject}: go back, or run {command}.",
        "{count} bad outputs are still to be graded on {subject}: go back, or run {command}.",
        count,
        subject=subject,
        command=f"`promptpex grade --on {subject}`",
    )


@dataclass(frozen=True, slots=True)
class GradingState:
    """What a choice rests on."""

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
    """The item to grade next among the candidates, of which there is at least one."""
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
