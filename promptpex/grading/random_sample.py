"""The random sample: which graded items stand for all of them, however the others were chosen.

Every item has a permanent random number, the digest of seed and key (Ohlsson 1995, in Business Survey Methods, ch. 9).
At a turn of the random sample its next item in the order of these numbers is graded. So the sample is a beginning of
that order, and how long it is does not depend on the order: a simple random sample, whatever a policy chose in
between, whoever graded it.

An item that a policy chose before its turn came is in the sample once its turn has come, not earlier. Were the sample
simply the longest beginning that is graded, items would be in it because a policy chose them: of two items, of which
the policy grades one, the beginning of length one would always be that one. Nor does the sample take its next item
twice where the first is graded already: such a turn is used up, and the policy chooses what is graded. The grade says
so, in ``policy``: ``alternating after KEY``.

Items that join have their own numbers. Those that come before the sample's last item are its next ones; until they are
graded the sample ends before the first of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from types import MappingProxyType

from promptpex.core.ids import digest
from promptpex.core.records import Grade

RANDOM = "random"
"""The policy of a grade whose item was chosen by the random sample's turn."""
RANDOM_SHARE = 1 / 3
"""How often it is the random sample's turn, whatever the policy."""
SEED = 0
"""Of the permanent numbers: the same for everybody who grades a prompt, so that merged files hold one sample."""

_AFTER = " after "
_DIGITS = 13
"""Hex digits of a number: 52 bits, so that it is exact as a float."""


@lru_cache(maxsize=1 << 17)
def number(key: str, seed: int = SEED, of: str = "item") -> float:
    """The permanent random number, from 0 to below 1, of an item's key, or of whatever else ``of`` names."""
    return float(int(digest([of, seed, key], _DIGITS), 16) / 16**_DIGITS)


def place(key: str, seed: int = SEED) -> tuple[float, str]:
    """By what the random sample takes items in turn."""
    return number(key, seed), key


def in_order(keys: Iterable[str], seed: int = SEED) -> tuple[str, ...]:
    """The keys, each once, in the order in which the random sample takes them."""
    return _in_order(tuple(keys), seed)


@lru_cache(maxsize=4)  # A pool is looked at again and again while it is graded.
def _in_order(keys: tuple[str, ...], seed: int) -> tuple[str, ...]:
    return tuple(sorted(set(keys), key=lambda key: place(key, seed)))


def reached_by(grades: Iterable[Grade], in_hand: Mapping[str, str] = MappingProxyType({})) -> frozenset[str]:
    """The keys whose turn in the random sample has come, as the grades record it; also those that were undone since.

    Args:
        grades: all there are.
        in_hand: the policy that chose each item that somebody is grading just now, by the item's key.
    """
    chosen = [*((grade.key, grade.policy) for grade in grades), *in_hand.items()]
    return frozenset(reached for key, policy in chosen if (reached := reached_key(key, policy)))


def reached_key(key: str, policy: str) -> str:
    """The key whose turn had come when ``policy`` chose the item with this key; empty where it was no turn."""
    if policy == RANDOM:
        return key
    return policy.rpartition(_AFTER)[2] if _AFTER in policy else ""


def policy_after(policy: str, key: str) -> str:
    """What a grade records whose item the policy chose at a turn of the random sample that ``key`` had used up."""
    return f"{policy}{_AFTER}{key}"


def random_sample(
    pool: Iterable[str], graded: Collection[str], reached: Collection[str], seed: int = SEED
) -> tuple[str, ...]:
    """The random sample of a pool: what every estimate has to use that claims to hold for the whole pool.

    Where the whole pool is graded it is the whole pool.

    Args:
        pool: the keys of all items.
        graded: those that are graded on the subject in question; "unsure" is a grade, and one without a label is too.
        reached: ``reached_by`` of all grades there are.
        seed: of the numbers.
    """
    order = in_order(pool, seed)
    if all(key in graded for key in order):
        return order
    return tuple(takewhile(lambda key: key in reached and key in graded, order))


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the random sample.

    Attributes:
        item: the key to be graded next; empty where the turn is used up by an item that is graded already.
        used_by: that item's key; empty where there is one to be graded, or where all have had their turn.
    """

    item: str = ""
    used_by: str = ""


def next_turn(
    order: Iterable[str], graded: Collection[str], reached: Collection[str], in_hand: Collection[str] = ()
) -> Turn:
    """What the random sample does with its next turn.

    An item that a policy put into somebody's hands counts like one that is graded; one that they have by a turn of the
    sample has been reached.

    Args:
        order: ``in_order`` of the pool.
        graded: the keys of items that need no grade any more.
        reached: those whose turn has come.
        in_hand: those that somebody else is grading just now.
    """
    for key in order:
        if key not in graded and key not in in_hand:
            return Turn(item=key)
        if key not in reached:
            return Turn(used_by=key)
    return Turn()
