"""Where each model stands, and how sure that is: the answer's figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from promptpex.core.errors import InputError
from promptpex.stats import (
    DEFAULT_TOLERANCE,
    Grid,
    Interval,
    ModelPlace,
    MoreCases,
    Suitability,
    more_cases,
    race,
    sides,
    suitability,
)
from promptpex.tables.counts import Counted, Weights, counted
from promptpex.tables.proportions import apart

if TYPE_CHECKING:
    import pandas as pd

Place = Literal[
    "alone", "best", "tied", "worse", "undecided", "unscored", "reference", "better", "below limit", "above limit"
]
FEW_OPEN = 0.05
"""Of a model's outputs, up to so many without a verdict count as few."""

Looks = Sequence[Collection[str]]
"""The ids of the cases that each look at the suite added, in order; all that were planned."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one model stands. Every place holds however the outputs that are open would have come out.

    Attributes:
        place: ``best``: every other model is shown to be worse; ``tied``: shown to be less than the tolerance worse
            than the best, whichever that is; ``worse``: shown to break its rules more often than ``beaten_by``;
            ``undecided``: neither is shown; ``reference`` and ``better`` where a model was named to compare with;
            ``below limit``, ``above limit`` where a limit was; ``alone``: there is no other; ``unscored``.
        versus: the model that it is compared with.
        difference: its non-compliance minus that of ``versus`` on the cases that were asked of both, with Tango's
            interval; where verdicts are missing the interval holds whatever they are, and has no estimate.
        p: p-value of the difference that says most, corrected for the number of models by Holm.
        beaten_by: a model that is shown to break its rules less often, the clearest.
        more_cases: a range of cases more that would probably decide an undecided place.
        because: what keeps a place undecided that would be decided without it: outputs without a verdict, models that
            were not asked.
        sampled_rules: whether a place that a test has shown would also be shown if the rules were a sample.
    """

    place: Place
    versus: str | None = None
    difference: Interval | None = None
    p: float | None = None
    beaten_by: str | None = None
    more_cases: MoreCases | None = None
    because: str | None = None
    sampled_rules: bool | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the models.

    Attributes:
        tolerance: the loss that one is ready to accept, as a share.
        against: the model to compare with; None: the best.
        confidence: of intervals; its complement is the error rate of tests.
        looks: the planned looks of a run that stopped when it was decided; none where all is asked at once.
        limit: with ``looks``, the non-compliance that models are held against.
        weights: how many times each case counts.
    """

    tolerance: float = DEFAULT_TOLERANCE
    against: str | None = None
    confidence: float = 0.95
    looks: Looks = ()
    limit: float | None = None
    weights: Weights = field(default_factory=dict)

    @property
    def alpha(self) -> float:
        """The error rate of tests."""
        return round(1.0 - self.confidence, 12)


@dataclass(frozen=True, slots=True)
class Standings:
    """Where all models stand.

    Attributes:
        basis: ``paired`` tests on all cases; a ``race`` or a ``limit`` in a run that stopped when it was decided.
        models: the standings, by model.
        question: what was asked of them.
        looks_of: at how many of the looks that were taken each model was asked.
        settled: models that need not be asked any more, where there are looks.
    """

    basis: Literal["paired", "race", "limit"]
    models: Mapping[str, Standing]
    question: Question = Question()
    looks_of: Mapping[str, int] = field(default_factory=dict)
    settled: frozenset[str] = frozenset()

    def at(self, *places: Place) -> tuple[str, ...]:
        """The models at these places."""
        return tuple(model for model, standing in self.models.items() if standing.place in places)

    @property
    def pool(self) -> tuple[str, ...]:
        """The models to choose from: those shown to be good enough, else all that are not ruled out."""
        shown = self.at("best", "tied", "reference", "better", "below limit", "alone")
        return shown or self.at("undecided")


def standings(rows: pd.DataFrame, order: Sequence[str], question: Question = Question()) -> Standings:
    """Where the models stand, from a table of outputs.

    Args:
        rows: a table of outputs.
        order: all models, those without outputs too.
        question: what is asked.

    Raises:
        InputError: the model to compare with is none of them, or the run stopped when something else was decided.
    """
    return stand(counted(rows, order, weights=question.weights), looked_at(rows, order, question), question)


def stand(counts: Counted, looks: Sequence[Counted], question: Question) -> Standings:
    """The same from counted outputs, all of them and those known at each look."""
    if not question.looks:
        return _paired(counts, question)
    if question.against is not None:
        raise InputError("This run stopped when its models were placed: tests against one named model do not hold.")
    if question.limit is not None:
        return _beside_limit(counts, looks, question)
    return _raced(counts, looks, question)


def looked_at(rows: pd.DataFrame, order: Sequence[str], question: Question) -> list[Counted]:
    """What was known at each look that was taken whole: no output of it was left unasked."""
    if not question.looks:
        return []
    whole = counted(rows, order, weights=question.weights)
    found: list[Counted] = []
    cases: set[str] = set()
    for added in question.looks:
        cases |= set(added)
        some = rows[rows["case"].isin(list(cases))]
        known = counted(some, whole.asked.models, weights=question.weights)
        if any(known.not_asked.values()) or not set(added) <= set(some["case"]):
            break
        found.append(known)
    return found


def _paired(counts: Counted, question: Question) -> Standings:
    sort = partial(
        suitability, counts.asked, tolerance=question.tolerance, alpha=question.alpha, against=question.against
    )
    found = sort(incomplete=counts.incomplete)
    others = [sort(reading="seen"), sort(reading="for")] if _open(counts) else []
    return Standings("paired", _told(counts, found, others, question), question)


def _raced(counts: Counted, looks: Sequence[Counted], question: Question) -> Standings:
    if not looks:
        return Standings("race", _waiting(counts), question)
    raced = partial(
        race, [look.asked for look in looks], len(question.looks), tolerance=question.tolerance, alpha=question.alpha
    )
    shown = raced(incomplete=looks[-1].incomplete)
    found, settled = shown.places, frozenset(shown.settled(question.alpha))
    others = [raced(reading="seen").places, raced(reading="for").places] if _open(counts) else []
    told = _told(counts, found, others, question)
    return Standings("race", told, question, _looks_of(looks), settled)


def _beside_limit(counts: Counted, looks: Sequence[Counted], question: Question) -> Standings:
    if not looks or question.limit is None:
        return Standings("limit", _waiting(counts), question)
    places: Mapping[str, Place] = {"below": "below limit", "above": "above limit", "undecided": "undecided"}
    beside = partial(sides, [look.asked for look in looks], len(question.looks), question.limit, alpha=question.alpha)
    found, sampled = beside(), beside(sampled_rules=True)
    grid = counts.asked
    told = {}
    for row, name in enumerate(grid.models):
        place = places[found[name]] if grid.scored(row) else "unscored"
        if place == "undecided":
            told[name] = Standing(place, because=_unscored(grid, [name]))
        else:
            told[name] = Standing(place, sampled_rules=found[name] == sampled[name] if grid.scored(row) else None)
    settled = frozenset(name for name, side in found.items() if side != "undecided")
    return Standings("limit", told, question, _looks_of(looks), settled)


def _looks_of(looks: Sequence[Counted]) -> dict[str, int]:
    """At how many looks each model was asked: the number of the last one at which it had more outputs than before."""
    found: dict[str, int] = {}
    before: dict[str, int] = {}
    for number, look in enumerate(looks, 1):
        grid = look.asked
        for row, name in enumerate(grid.models):
            outputs = int(grid.asked[row].sum())
            if outputs > before.get(name, 0):
                found[name] = number
            before[name] = outputs
    return found


def _waiting(counts: Counted) -> dict[str, Standing]:
    """Before the first look is whole, nothing is said of anybody."""
    grid = counts.asked
    return {name: Standing("undecided" if grid.scored(row) else "unscored") for row, name in enumerate(grid.models)}


def _told(
    counts: Counted, found: Suitability, others: Sequence[Suitability], question: Question
) -> dict[str, Standing]:
    """The standings; ``others`` are the places if open outputs are left out, and if they came out for each claim."""
    return {name: _standing(counts, one, found, others, question) for name, one in found.models.items()}


def _standing(
    counts: Counted, one: ModelPlace, found: Suitability, others: Sequence[Suitability], question: Question
) -> Standing:
    grid, anchor = counts.asked, found.anchor
    difference = None
    if anchor is not None and anchor != one.model:
        difference = apart(counts, grid.row(one.model), grid.row(anchor), question.confidence)
    because = more = None
    if one.place == "undecided":
        because = _because(counts, one.model, others)
        more = None if because or anchor is None else _more(grid, one.model, found, question)
    return Standing(
        place=one.place,
        versus=None if anchor == one.model else anchor,
        difference=difference,
        p=one.p if difference is not None else None,
        beaten_by=one.beaten_by,
        more_cases=more,
        because=because,
        sampled_rules=one.sampled_rules,
    )


def _more(grid: Grid, model: str, found: Suitability, question: Question) -> MoreCases | None:
    return more_cases(
        grid,
        grid.row(model),
        question.tolerance,
        alpha_worse=question.alpha / max(1, found.open_pairs),
        alpha_tie=question.alpha / max(1, found.open_ties - 1),
    )


def _because(counts: Counted, model: str, others: Sequence[Suitability]) -> str | None:
    """What keeps a place undecided: models that were not asked, and open outputs without which it were decided.

    Where it were decided only if they came out one way, they are the cause where they are more than a few; otherwise
    there are too few cases.
    """
    grid = counts.asked
    asked = {name: int(grid.asked[row].sum()) for row, name in enumerate(grid.models)}
    reasons = [
        f"the judge was not asked about {name}" if counts.answered[name] else f"{name} was not asked"
        for name in grid.models
        if not asked[name]
    ]
    open_ = {row: grid.missing(row) / asked[name] for row, name in enumerate(grid.models) if asked[name]}
    decided = [other.models[model].claim for other in others]
    many = any(share > FEW_OPEN for share in open_.values())
    if (decided and (decided[0] or (many and decided[1]))) or 1.0 in open_.values() or model in counts.incomplete:
        told = _unscored(grid, grid.models)
        reasons += [told] if told else []
    return "; ".join(reasons) or None


def _unscored(grid: Grid, names: Sequence[str]) -> str | None:
    rows = [(name, grid.row(name)) for name in names]
    return missing_in_words(grid, [(row, f"outputs of {name}") for name, row in rows])


def missing_in_words(grid: Grid, models: Sequence[tuple[int, str]]) -> str | None:
    """How many outputs of some models, each with its name for a sentence, are unscored; None where none is."""
    missing = [(grid.missing(row), int(grid.asked[row].sum()), what) for row, what in models]
    parts = [f"{open_} of {asked} {what}" for open_, asked, what in missing if open_]
    verb = "is" if sum(open_ for open_, _, _ in missing) == 1 else "are"
    return f"{' and '.join(parts)} {verb} unscored" if parts else None


def _open(counts: Counted) -> bool:
    return bool(counts.asked.open.any())
