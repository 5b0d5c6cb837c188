"""How the models compare, and how sure that is: a decision about each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

from promptpex.core.errors import InputError
from promptpex.stats import (
    DEFAULT_TOLERANCE,
    Grid,
    Interval,
    ModelDecision,
    Suitability,
    sequential_selection,
    suitability,
    versus_limit,
)
from promptpex.tables.counts_per_case import COUNTED, Counted, Weights, counted
from promptpex.tables.proportions import difference

if TYPE_CHECKING:
    import pandas as pd

RankingOutcome = Literal[
    "only model", "best", "tied", "worse", "undecided", "unscored", "reference", "better", "below limit", "above limit"
]
RANKED_BY = ("non-compliance", "accuracy")
"""What models are ranked by, besides the owner's metrics, each by its name."""

FEW_OPEN = 0.05
"""Share of a model's outputs that may lack a verdict and still count as few."""

Looks = Sequence[Collection[str]]
"""The ids of the cases that each look at the suite added, in order; all that were planned."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the data decide about one model. It holds however the open outputs would have come out.

    Attributes:
        outcome: ``best``: every other model is shown to be worse; ``tied``: shown to be less than the tolerance worse
            than the best, whichever that is; ``worse``: shown to break its rules more often than ``beaten_by``;
            ``undecided``: neither is shown; ``reference`` and ``better`` where a model was named to compare with;
            ``below limit``, ``above limit`` where a limit was; ``only model``: there is no other; ``unscored``.
        versus: the model that it is compared with.
        difference: its non-compliance minus that of ``versus`` on the cases that were asked of both, with Tango's
            interval; where verdicts are missing the interval holds whatever they are, and has no estimate.
        p: p-value of the difference that is clearest, corrected for the number of models by Holm.
        beaten_by: a model that is shown to break its rules less often, the clearest.
        because: what keeps an outcome undecided that would be decided without it: outputs without a verdict, models
            that were not asked.
    """

    outcome: RankingOutcome
    versus: str | None = None
    difference: Interval | None = None
    p: float | None = None
    beaten_by: str | None = None
    because: str | None = None

    @classmethod
    def of(
        cls,
        model: ModelDecision,
        anchor: str | None,
        difference: Interval | None,
        because: str | None,
    ) -> Self:
        """The decision about a model that was compared with ``anchor``; without a difference it has no p."""
        return cls(
            outcome=model.outcome,
            versus=None if anchor == model.model else anchor,
            difference=difference,
            p=model.p if difference is not None else None,
            beaten_by=model.beaten_by,
            because=because,
        )


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """What models are compared with, and how surely.

    Attributes:
        tolerance: the loss that one is ready to accept, as a share.
        against: the model to compare with; None: the best.
        confidence: of intervals; its complement is the error rate of tests.
        looks: the planned looks of a run that stopped when it was decided; none where all is asked at once.
        limit: with ``looks``, the non-compliance that models are compared with.
        weights: how many times each case counts.
        rank_by: what the table of outputs says of each: whether it keeps the rules, or whether it is right
            (``expected_outcomes``); or the name of a metric (``metric_rankings``). Decisions speak of breaking rules
            where they mean any of these.
    """

    tolerance: float = DEFAULT_TOLERANCE
    against: str | None = None
    confidence: float = 0.95
    looks: Looks = ()
    limit: float | None = None
    weights: Weights = field(default_factory=dict)
    rank_by: str = "non-compliance"

    @property
    def alpha(self) -> float:
        """The error rate of tests."""
        return round(1.0 - self.confidence, 12)


@dataclass(frozen=True, slots=True)
class Rankings:
    """The decisions about all models.

    Attributes:
        basis: ``paired`` tests on all cases; ``sequential`` tests or a ``limit`` in a run that stopped when it was
            decided.
        models: the decisions, by model.
        options: what they were compared with.
        looks_of: at how many of the looks that were taken each model was asked.
        settled: models that need not be asked any more, where there are looks.
    """

    basis: Literal["paired", "sequential", "limit"]
    models: Mapping[str, Decision]
    options: RankingOptions = RankingOptions()
    looks_of: Mapping[str, int] = field(default_factory=dict)
    settled: frozenset[str] = frozenset()

    def having(self, *outcomes: RankingOutcome) -> tuple[str, ...]:
        """The models with one of these outcomes."""
        return tuple(model for model, decision in self.models.items() if decision.outcome in outcomes)

    @property
    def pool(self) -> tuple[str, ...]:
        """The models to choose from: those shown to be good enough, else all that are not ruled out."""
        decided_models = self.having("best", "tied", "reference", "better", "below limit", "only model")
        return decided_models or self.having("undecided")


def rankings(rows: pd.DataFrame, order: Sequence[str], options: RankingOptions = RankingOptions()) -> Rankings:
    """The decisions about the models, from a table of outputs.

    Args:
        rows: a table of outputs.
        order: all models, those without outputs too.
        options: what they are compared with.

    Raises:
        InputError: the model to compare with is not one of them, or the run stopped when something else was decided.
    """
    return rank(counted(rows, order, weights=options.weights), counts_at_looks(rows, order, options), options)


def rank(counts: Counted, looks: Sequence[Counted], options: RankingOptions) -> Rankings:
    """The same from counted outputs, all of them and those known at each look."""
    if not options.looks:
        return _paired(counts, options)
    require_no_looks(options)
    if options.against is not None:
        raise InputError("This run stopped when its models were ranked: tests against one named model do not hold.")
    if options.limit is not None:
        return _versus_limit(counts, looks, options)
    return _sequential(counts, looks, options)


def require_no_looks(options: RankingOptions) -> None:
    """Refuses to rank models by anything else than non-compliance where a run stopped by that.

    Raises:
        InputError: the run did.
    """
    if options.looks and options.rank_by != "non-compliance":
        stopped = "This run stopped when its models were ranked by non-compliance"
        raise InputError(f"{stopped}: tests of {options.rank_by} do not hold.")


def counts_at_looks(rows: pd.DataFrame, order: Sequence[str], options: RankingOptions) -> list[Counted]:
    """What was known at each look that was taken whole: no output of it was left unasked."""
    if not options.looks:
        return []
    whole = counted(rows, order, weights=options.weights)
    rows = rows[[name for name in rows.columns if name in COUNTED]]
    looks: list[Counted] = []
    cases: set[str] = set()
    for added in options.looks:
        cases |= set(added)
        rows_of_look = rows[rows["case"].isin(list(cases))]
        counts = counted(rows_of_look, whole.asked.models, weights=options.weights)
        if any(counts.not_asked.values()) or not set(added) <= set(rows_of_look["case"]):
            break
        looks.append(counts)
    return looks


def _paired(counts: Counted, options: RankingOptions) -> Rankings:
    test = partial(suitability, counts.asked, tolerance=options.tolerance, alpha=options.alpha, against=options.against)
    tested = test(incomplete=counts.incomplete)
    others = [test(reading="seen"), test(reading="for")] if _open(counts) else []
    return Rankings("paired", _decisions(counts, tested, others, options), options)


def _sequential(counts: Counted, looks: Sequence[Counted], options: RankingOptions) -> Rankings:
    if not looks:
        return Rankings("sequential", _before_a_look(counts), options)
    test = partial(
        sequential_selection,
        [look.asked for look in looks],
        len(options.looks),
        tolerance=options.tolerance,
        alpha=options.alpha,
    )
    selection = test(incomplete=looks[-1].incomplete)
    others = [test(reading="seen").suitability, test(reading="for").suitability] if _open(counts) else []
    decisions = _decisions(counts, selection.suitability, others, options)
    return Rankings("sequential", decisions, options, _looks_of(looks), frozenset(selection.settled(options.alpha)))


def _versus_limit(counts: Counted, looks: Sequence[Counted], options: RankingOptions) -> Rankings:
    if not looks or options.limit is None:
        return Rankings("limit", _before_a_look(counts), options)
    outcomes: Mapping[str, RankingOutcome] = {
        "below": "below limit",
        "above": "above limit",
        "undecided": "undecided",
    }
    test = partial(versus_limit, [look.asked for look in looks], len(options.looks), options.limit, alpha=options.alpha)
    sides = test()
    grid = counts.asked
    decisions = {}
    for row, name in enumerate(grid.models):
        outcome = outcomes[sides[name]] if grid.scored(row) else "unscored"
        decisions[name] = Decision(outcome, because=_unscored(grid, [name]) if outcome == "undecided" else None)
    settled = frozenset(name for name, side in sides.items() if side != "undecided")
    return Rankings("limit", decisions, options, _looks_of(looks), settled)


def _looks_of(looks: Sequence[Counted]) -> dict[str, int]:
    """At how many looks each model was asked: the number of the last one at which it had more outputs than before."""
    last: dict[str, int] = {}
    before: dict[str, int] = {}
    for number, look in enumerate(looks, 1):
        grid = look.asked
        for row, name in enumerate(grid.models):
            outputs = int(grid.asked[row].sum())
            if outputs > before.get(name, 0):
                last[name] = number
            before[name] = outputs
    return last


def _before_a_look(counts: Counted) -> dict[str, Decision]:
    """Before the first look is complete, nothing is decided."""
    grid = counts.asked
    return {name: Decision("undecided" if grid.scored(row) else "unscored") for row, name in enumerate(grid.models)}


def _decisions(
    counts: Counted, shown: Suitability, others: Sequence[Suitability], options: RankingOptions
) -> dict[str, Decision]:
    """The decisions; ``others`` are the outcomes if open outputs are left out, and if they came out for each claim."""
    return {name: _decision(counts, model, shown, others, options) for name, model in shown.models.items()}


def _decision(
    counts: Counted, model: ModelDecision, shown: Suitability, others: Sequence[Suitability], options: RankingOptions
) -> Decision:
    grid, anchor = counts.asked, shown.anchor
    gap = None
    if anchor is not None and anchor != model.model:
        gap = difference(counts, grid.row(model.model), grid.row(anchor), options.confidence)
    because = _because(counts, model.model, others) if model.outcome == "undecided" else None
    return Decision.of(model, anchor, gap, because)


def _because(counts: Counted, model: str, others: Sequence[Suitability]) -> str | None:
    """What keeps an outcome undecided: models that were not asked, and open outputs without which it would be decided.

    Where it would be decided only if they came out one way, they are the cause where they are more than a few;
    otherwise there are too few cases.
    """
    grid = counts.asked
    asked_by_model = {name: int(grid.asked[row].sum()) for row, name in enumerate(grid.models)}
    reasons = [
        f"the judge was not asked about {name}" if counts.answered[name] else f"{name} was not asked"
        for name in grid.models
        if not asked_by_model[name]
    ]
    open_ = {
        row: grid.missing(row) / asked_by_model[name] for row, name in enumerate(grid.models) if asked_by_model[name]
    }
    decided = [other.models[model].claim for other in others]
    many = any(share > FEW_OPEN for share in open_.values())
    if (decided and (decided[0] or (many and decided[1]))) or 1.0 in open_.values() or model in counts.incomplete:
        unscored = _unscored(grid, grid.models)
        reasons += [unscored] if unscored else []
    return "; ".join(reasons) or None


def _unscored(grid: Grid, names: Sequence[str]) -> str | None:
    rows = [(name, grid.row(name)) for name in names]
    return missing_in_words(grid, [(row, f"outputs of {name}") for name, row in rows])


def missing_in_words(grid: Grid, models: Sequence[tuple[int, str]]) -> str | None:
    """How many outputs of some models, each with its name for a sentence, are unscored; None where none is."""
    missing = [(grid.missing(row), int(grid.asked[row].sum()), what) for row, what in models]
    parts = [f"{open_} of {asked} {what}" for open_, asked, what in missing if open_]
    verb = "is" if sum(open_ for open_, _, _ in missing) == 1 else "are"
    *head, last = parts or [""]
    return f"{', '.join(head)}{' and ' if head else ''}{last} {verb} unscored" if parts else None


def _open(counts: Counted) -> bool:
    return bool(counts.asked.open.any())
