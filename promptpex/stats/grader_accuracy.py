"""How often each of several graders is right, estimated from what they say of the same things, the truth unknown.

The model of Dawid and Skene (1979, Applied Statistics 28:20) with one figure per grader: a grader is right with the
same probability whatever the truth is. It is fitted by expectation and maximisation from the majority's opinion.
With two graders the figures cannot be told apart, since all that is known is how often they agree.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

UNKNOWN_ACCURACY = 0.75
"""Of a grader of whom nothing is known; also what the estimates of few grades are drawn towards."""
_PRIOR = 4.0
"""How many graded things the prior counts as."""
LEAST_ACCURACY, MOST_ACCURACY = 0.5, 0.99
"""Who is wrong more often than right weighs nothing, and nobody outweighs any number of others."""
_TURNS = 200
_CLOSE = 1e-7


@dataclass(frozen=True, slots=True)
class GraderAccuracy:
    """The estimates.

    Attributes:
        accuracy: per grader, from ``LEAST_ACCURACY`` to ``MOST_ACCURACY``.
        good: of each thing the probability that it is good.
        prevalence: the share of good things.
    """

    accuracy: dict[str, float]
    good: tuple[float, ...]
    prevalence: float


def logit(share: float) -> float:
    """The natural logarithm of the odds of a probability in (0, 1)."""
    return math.log(share / (1.0 - share))


def one_coin(things: Sequence[Mapping[str, bool]]) -> GraderAccuracy:
    """The accuracy of graders.

    Args:
        things: of each thing what its graders say, by their names: True is good. Things without a grade are allowed.
    """
    good = [_majority(thing) for thing in things]
    accuracy: dict[str, float] = {}
    prevalence = 0.5
    for _ in range(_TURNS):
        before = good
        accuracy = _accuracy(things, good)
        prevalence = (sum(good) + 1.0) / (len(good) + 2.0)
        good = [_posterior(thing, accuracy, prevalence) for thing in things]
        if max((abs(new - old) for new, old in zip(good, before, strict=True)), default=0.0) < _CLOSE:
            break
    return GraderAccuracy(accuracy, tuple(good), prevalence)


def _majority(thing: Mapping[str, bool]) -> float:
    return sum(thing.values()) / len(thing) if thing else 0.5


def _accuracy(things: Sequence[Mapping[str, bool]], good: Sequence[float]) -> dict[str, float]:
    right: defaultdict[str, float] = defaultdict(float)
    times: defaultdict[str, int] = defaultdict(int)
    for thing, share in zip(things, good, strict=True):
        for grader, value in thing.items():
            right[grader] += share if value else 1.0 - share
            times[grader] += 1
    estimates = {name: (right[name] + _PRIOR * UNKNOWN_ACCURACY) / (times[name] + _PRIOR) for name in times}
    return {name: min(MOST_ACCURACY, max(LEAST_ACCURACY, share)) for name, share in estimates.items()}


def _posterior(thing: Mapping[str, bool], accuracy: Mapping[str, float], prevalence: float) -> float:
    odds = logit(prevalence) + math.fsum(
        logit(accuracy[grader]) if value else -logit(accuracy[grader]) for grader, value in thing.items()
    )
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -700 else 0.0
