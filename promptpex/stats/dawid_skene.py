"""How often each of several graders is right, estimated from what they say of the same things, the truth unknown.

The model of Dawid and Skene (1979, Applied Statistics 28:20) with one figure per grader: a grader is right with the
same probability whatever the truth is. It is fitted by expectation and maximisation from the majority's opinion, on
what two or more have graded: a single opinion tells nothing of who is right. With two graders the figures cannot be
told apart, since all that is known is how often they agree.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

UNKNOWN_ACCURACY = 0.75
"""Of a grader of whom nothing is known; also what the estimates of few grades are drawn towards."""
_PRIOR = 4.0
"""How many graded things the prior counts as."""
LEAST_ACCURACY, MOST_ACCURACY = 0.5, 0.99
"""Who is wrong more often than right weighs nothing, and nobody outweighs any number of others."""
_TURNS = 200
_CLOSE = 1e-7


def logit(share: float) -> float:
    """The natural logarithm of the odds of a probability in (0, 1)."""
    return math.log(share / (1.0 - share))


Pattern = frozenset[tuple[str, bool]]
"""What the graders of a thing say; things with the same pattern are counted together."""


def one_coin(things: Iterable[Mapping[str, bool]]) -> dict[str, float]:
    """The accuracy of each grader who shares a thing with another one, from ``LEAST_ACCURACY`` to ``MOST_ACCURACY``.

    Args:
        things: of each thing what its graders say, by their names: True is good.
    """
    counts = Counter(frozenset(thing.items()) for thing in things if len(thing) > 1)
    good = {pattern: sum(value for _, value in pattern) / len(pattern) for pattern in counts}
    accuracy: dict[str, float] = {}
    for _ in range(_TURNS):
        before = good
        accuracy = _accuracy(counts, good)
        prevalence = (math.fsum(good[one] * times for one, times in counts.items()) + 1.0) / (counts.total() + 2.0)
        good = {pattern: _posterior(pattern, accuracy, prevalence) for pattern in counts}
        if max((abs(good[one] - before[one]) for one in counts), default=0.0) < _CLOSE:
            break
    return accuracy


def _accuracy(counts: Counter[Pattern], good: Mapping[Pattern, float]) -> dict[str, float]:
    right: defaultdict[str, list[float]] = defaultdict(list)
    times: Counter[str] = Counter()
    for pattern, count in counts.items():
        for grader, value in pattern:
            right[grader].append(count * (good[pattern] if value else 1.0 - good[pattern]))
            times[grader] += count
    estimates = {
        name: (math.fsum(right[name]) + _PRIOR * UNKNOWN_ACCURACY) / (times[name] + _PRIOR) for name in sorted(times)
    }
    return {name: min(MOST_ACCURACY, max(LEAST_ACCURACY, share)) for name, share in estimates.items()}


def _posterior(pattern: Pattern, accuracy: Mapping[str, float], prevalence: float) -> float:
    """The probability that a thing of which graders say this is good."""
    odds = logit(prevalence) + math.fsum(
        logit(accuracy[grader]) if value else -logit(accuracy[grader]) for grader, value in pattern
    )
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -700 else 0.0
