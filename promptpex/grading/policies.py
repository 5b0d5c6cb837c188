"""Policies: which item to grade next.

EvalGen's (arXiv 2404.12272, section 5.1 and appendix A.2) go by *selectivity-weighted confidence*:

    selectivity(f) = share of the items so far that pass assertion f
    sigma(e)       = sum of selectivity(f) over the assertions f that **fail** e

An item that fails what most others pass is probably bad, one that fails nothing probably good. The paper multiplies by
f(e), which is 1 where e passes, and says in the next sentence that a failure counts; and it calls y both "bad" and
"good". What is meant is the above: ``highest`` looks for bad items, ``lowest`` for good ones, ``alternating`` for one
after the other.

A policy gives each item that is open a probability. They are computed anew after each grade. Before there are
opinions all items are alike, so that the first choices are random.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from promptpex.codecs.text.wording import did_you_mean, with_hint
from promptpex.core.errors import InputError
from promptpex.grading.random_sample import RANDOM

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

    Raises:
        InputError: no policy is called that.
    """
    require_policy(policy)
    return POLICIES[policy](tuple(dict.fromkeys(items)), around) if items else {}


def require_policy(name: str) -> None:
    """Refuses the name of a policy that there is not.

    Raises:
        InputError: with the names that there are.
    """
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
