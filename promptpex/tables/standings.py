"""Where each model stands, and how sure that is: the answer's figures, from one value per model and case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from promptpex.errors import InputError
from promptpex.stats import (
    DEFAULT_TOLERANCE,
    Interval,
    ModelPlace,
    Suitability,
    compare_with,
    race,
    share_sequence,
    sides,
    suitability,
)
from promptpex.tables.repeats import Tallies, tallies

if TYPE_CHECKING:
    import pandas as pd

Place = Literal[
    "alone", "best", "tied", "worse", "undecided", "unscored", "reference", "better", "below limit", "above limit"
]
Results = dict[str, dict[str, bool | None]]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one model stands.

    Attributes:
        place: ``best``: every other is certainly worse; ``tied``: shown to be less than the tolerance worse than the
            best, whichever that is; ``worse`` for certain than ``beaten_by``; ``undecided``: neither is shown;
            ``reference`` and ``better`` where a model was named to compare with; ``below limit``, ``above limit``
            where a limit was; ``alone``: there is no other; ``unscored``.
        versus: the model that it is compared with.
        difference: its non-compliance minus that of ``versus`` on common cases, with Tango's interval.
        p: p-value of the difference that says most, adjusted for the number of models by Holm.
        more_cases: that would decide an undecided place with probability 0.8 if what was seen is true.
        anytime: the interval that holds at every look, where the run may have stopped early.
    """

    place: Place
    versus: str | None = None
    difference: Interval | None = None
    p: float | None = None
    beaten_by: str | None = None
    more_cases: int | None = None
    anytime: Interval | None = None


@dataclass(frozen=True, slots=True)
class Standings:
    """Where all models stand.

    Attributes:
        basis: ``paired`` tests on all cases; a ``race`` or a ``limit`` in a run that stopped when it was decided.
        models: the standings, by model.
        tolerance: the loss that one is ready to accept.
        alpha: the probability of any wrong statement of one kind.
        anchor: the best model seen, or the one named.
        limit: the non-compliance that models are held against.
    """

    basis: Literal["paired", "race", "limit"]
    models: Mapping[str, Standing]
    tolerance: float = DEFAULT_TOLERANCE
    alpha: float = 0.05
    anchor: str | None = None
    limit: float | None = None

    def at(self, *places: Place) -> tuple[str, ...]:
        """The models at these places."""
        return tuple(model for model, standing in self.models.items() if standing.place in places)

    @property
    def pool(self) -> tuple[str, ...]:
        """The models to choose from: those shown to be good enough, else all that are not ruled out."""
        shown = self.at("best", "tied", "reference", "better", "below limit", "alone")
        return shown or self.at("undecided")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the models.

    Attributes:
        tolerance: the loss that one is ready to accept, as a share.
        against: the model to compare with; None: the best.
        confidence: of intervals; its complement is the error rate of tests.
        stopping: whether the run asked until it was decided, so that only what holds at every look counts.
        limit: with ``stopping``, the non-compliance that models are held against.
    """

    tolerance: float = DEFAULT_TOLERANCE
    against: str | None = None
    confidence: float = 0.95
    stopping: bool = False
    limit: float | None = None


def standings(rows: pd.DataFrame, order: Sequence[str], question: Question = Question()) -> Standings:
    """Where the models stand, from a table of outputs.

    Args:
        rows: a table of outputs.
        order: all models, those without outputs too.
        question: what is asked.

    Raises:
        InputError: the model to compare with is none of them, or the run stopped when something else was decided.
    """
    if question.stopping and question.against is not None:
        raise InputError("This run stopped when its models were placed: tests against one named model do not hold.")
    counts = tallies(rows)
    results = case_results(counts, order)
    alpha = round(1.0 - question.confidence, 12)
    if question.stopping and question.limit is not None:
        return _beside_limit(counts, order, question.limit, alpha)
    if question.stopping and len(results) > 1:
        return _raced(results, counts, question.tolerance, alpha)
    if question.against is not None:
        found = compare_with(results, question.against, tolerance=question.tolerance, alpha=alpha)
    else:
        found = suitability(results, tolerance=question.tolerance, alpha=alpha)
    standing = {place.model: _paired(place, found) for place in found.models}
    return Standings("paired", {model: standing[model] for model in results}, question.tolerance, alpha, found.anchor)


def case_results(counts: Tallies, order: Sequence[str]) -> Results:
    """Per model and case whether it passed: more than half of the scored repeats did; None where none is scored."""
    models = dict.fromkeys([*order, *counts])
    return {
        model: {case: good > bad if good + bad else None for case, (good, bad) in counts.get(model, {}).items()}
        for model in models
    }


def _paired(place: ModelPlace, found: Suitability) -> Standing:
    anchor = place.model == found.anchor
    told: Place = place.place
    if place.place == "best":
        told = _leader(place, found)
    return Standing(
        place=told,
        versus=None if anchor else found.anchor,
        difference=None if anchor or not place.counts.n else _turned(place.difference),
        p=None if anchor or not place.counts.n else place.p,
        beaten_by=place.beaten_by,
        more_cases=_most_wanted(found) if told == "undecided" and anchor else place.more_cases,
    )


def _leader(place: ModelPlace, found: Suitability) -> Place:
    """The largest share seen is the best for certain only where every other model is certainly worse."""
    others = [other for other in found.models if other is not place and other.place != "unscored"]
    if not others:
        return "alone"
    if all(other.place == "worse" for other in others):
        return "best"
    return "tied" if place.within_tolerance else "undecided"


def _most_wanted(found: Suitability) -> int | None:
    wanted = [place.more_cases for place in found.models if place.place == "undecided"]
    known = [more for more in wanted if more is not None]
    return max(known) if known and len(known) == len(wanted) else None


def _turned(difference: Interval) -> Interval:
    """A difference of passes as one of non-compliance."""
    estimate = None if difference.estimate is None else 0.0 - difference.estimate
    ends = 0.0 - difference.high, 0.0 - difference.low
    return Interval(estimate, *ends, difference.confidence, difference.n, difference.method)


def _raced(results: Results, counts: Tallies, tolerance: float, alpha: float) -> Standings:
    places: dict[str, Place] = {"leading": "best", "tied": "tied", "worse": "worse", "open": "undecided"}
    found = race(results, tolerance=tolerance, alpha=alpha)
    standing = {}
    for model, cases in results.items():
        scored = any(value is not None for value in cases.values())
        place = places[found[model].place] if scored else "unscored"
        interval = share_sequence(*_failed(counts.get(model, {})), 1.0 - alpha)
        standing[model] = Standing(place, beaten_by=found[model].beaten_by, anytime=interval)
    return Standings("race", standing, tolerance, alpha)


def _beside_limit(counts: Tallies, order: Sequence[str], limit: float, alpha: float) -> Standings:
    places: dict[str, Place] = {"below": "below limit", "above": "above limit", "undecided": "undecided"}
    failed = {model: _failed(counts.get(model, {})) for model in dict.fromkeys([*order, *counts])}
    found = sides(failed, limit, alpha=alpha) if failed else {}
    standing = {
        model: Standing(places[side] if interval.n else "unscored", anytime=interval)
        for model, (interval, side) in found.items()
    }
    return Standings("limit", standing, alpha=alpha, limit=limit)


def _failed(cases: Mapping[str, tuple[int, int]]) -> tuple[float, int]:
    """Failed cases, one with repeats by its share of them, of those that are scored."""
    shares = [bad / (good + bad) for good, bad in cases.values() if good + bad]
    return sum(shares), len(shares)
