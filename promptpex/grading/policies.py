"""Policies: which item to grade next.

EvalGen's (arXiv 2404.12272, section 5.1 and appendix A.2) go by *selectivity-weighted confidence*:

    selectivity(f) = share of the items so far that pass assertion f
    sigma(e)       = sum of selectivity(f) over the assertions f that **fail** e

An item that fails what most others pass is probably bad, one that fails nothing probably good. The paper multiplies by
f(e), which is 1 where e passes, and says in the next sentence that a failure counts; and it calls y both "bad" and
"good". What is meant is the above: ``highest`` looks for bad items, ``lowest`` for good ones, ``alternating`` for one
after the other.

``informative`` is ours, and the default. It weighs how much the machines contradict each other on an item, subject by
subject, and prefers subjects with few grades and items that a near decision hangs on. Nothing can be chosen without
good and bad outputs, so as long as one kind is scarce it leans to items that are probably of that kind, by sigma.

A policy gives each item that is open a probability. They are computed anew after each grade. Before there are
opinions all items are alike, so that the first choices are random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from promptpex.codecs.text.wording import did_you_mean, with_hint
from promptpex.core.errors import InputError
from promptpex.grading.machine_opinions import MachineViews
from promptpex.grading.random_sample import RANDOM

DEFAULT_POLICY = "informative"

_FLOOR = 0.2
"""The score of an item that nothing speaks for: such items are chosen too, each a sixth as often as one on which half
of the machines contradict the other half. A convention, and so are the next three."""
_LEAN, _LEAN_WITHOUT = 1.0, 16.0
"""To which power an item's place in the order by sigma counts: the first where there are many labels of the scarcer
kind, and so much more where there is none."""
_LEAST_PLACE = 0.02
"""The place of what is least like the kind that is looked for: it remains possible."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a policy may look at besides the items themselves. Nothing in it tells of the items' random numbers.

    Attributes:
        views: of machines.
        step: how many items have been chosen before.
        grade_counts: grades by subject; a subject that is not named has none.
        weights: by the item's key, how much near decisions hang on it, 0 or more; 0 where it is not named.
        good, bad: items that have the label.
    """

    views: MachineViews = field(default_factory=MachineViews)
    step: int = 0
    grade_counts: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    good: int = 0
    bad: int = 0


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


def informativeness(divided: Mapping[str, float], needs: Mapping[str, float], weight: float = 0.0) -> float:
    """How much a grade of an item is expected to tell: a score above 0, in proportion to which items are chosen.

    The sum of the disagreement on each subject, times how much the subject needs grades, and as much again for each
    unit of ``weight``.
    """
    return (_FLOOR + sum(value * needs[subject] for subject, value in divided.items())) * (1.0 + weight)


def subject_needs(subjects: Collection[str], grade_counts: Mapping[str, int]) -> dict[str, float]:
    """How much each subject needs grades, from 0 to 1: inversely as it has them; 1 where it has the fewest."""
    fewest = min((grade_counts.get(subject, 0) for subject in subjects), default=0)
    return {subject: (1 + fewest) / (1 + grade_counts.get(subject, 0)) for subject in subjects}


def leaning(scores: Mapping[str, float], good: int, bad: int) -> dict[str, float]:
    """By item, from 0 to 1, how much it is like the kind that fewer labels are of; alike where there are no scores.

    The place among the items by sigma, from below where good outputs are scarce, to a power that falls as the scarcer
    kind has more labels.
    """
    power = _LEAN + _LEAN_WITHOUT / (1 + min(good, bad))
    lean, below = {}, 0
    for score, count in sorted(Counter(scores.values()).items()):
        place = (below + count / 2) / len(scores)
        lean[score] = max(place if good >= bad else 1.0 - place, _LEAST_PLACE) ** power
        below += count
    return {item: lean[score] for item, score in scores.items()}


def _even(items: Sequence[str], around: Surroundings) -> Chances:
    return dict.fromkeys(items, 1.0 / len(items))


def _greatest(items: Sequence[str], around: Surroundings) -> Chances:
    return _extreme(items, around, 1.0)


def _least(items: Sequence[str], around: Surroundings) -> Chances:
    return _extreme(items, around, -1.0)


def _extreme(items: Sequence[str], around: Surroundings, sign: float) -> Chances:
    """All items of the extreme score, to within rounding, in equal shares."""
    scores = {item: sign * sigma for item, sigma in _sigmas(items, around).items()}
    best = max(scores.values())
    count = sum(score == best for score in scores.values())
    return {item: float(score == best) / count for item, score in scores.items()}


def _sigmas(items: Sequence[str], around: Surroundings) -> dict[str, float]:
    return {item: around.views.sigma.get(item, 0.0) for item in items}


def _alternating(items: Sequence[str], around: Surroundings) -> Chances:
    return _extreme(items, around, -1.0 if around.step % 2 else 1.0)


def _informative(items: Sequence[str], around: Surroundings) -> Chances:
    needs = subject_needs(around.views.subjects, around.grade_counts)
    lean = leaning(_sigmas(items, around), around.good, around.bad)
    scores = {
        item: lean[item] * informativeness(around.views.divided.get(item, {}), needs, around.weights.get(item, 0.0))
        for item in items
    }
    total = sum(scores.values())
    return {item: score / total for item, score in scores.items()}


POLICIES: dict[str, Callable[[Sequence[str], Surroundings], Chances]] = {
    DEFAULT_POLICY: _informative,
    RANDOM: _even,
    "highest": _greatest,
    "lowest": _least,
    "alternating": _alternating,
}
"""By name; the default first."""
