"""How the models compare, and how sure that is: a decision about each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Self

from promptpex.core.errors import InputError
from promptpex.stats import (
    DEFAULT_TOLERANCE,
    Grid,
    Interval,
    Look,
    ModelDecision,
    Reading,
    Suitability,
    shown_worse,
    suitability,
    suitability_after_looks,
)
from promptpex.tables.counts_per_case import Cells, Counted, Weights, counted
from promptpex.tables.database_sql import UNASKED
from promptpex.tables.proportions import difference
from promptpex.tables.run_rows import Source

RankingOutcome = Literal["only model", "best", "tied", "worse", "undecided", "unscored", "reference", "better"]
RANKED_BY = ("non-compliance", "accuracy", "corrected")
"""What models are ranked by, besides the owner's metrics, each by its name."""

FEW_OPEN = 0.05
"""Share of a model's outputs that may lack a verdict and still count as few."""

Looks = Sequence[Collection[str]]
"""The ids of the cases that each part of the suite adds, in order: after each but the last one looks who is worse."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the data decide about one model. It holds however the open outputs would have come out.

    Attributes:
        outcome: ``best``: every other model is shown to be worse; ``tied``: shown to be less than the tolerance worse
            than the best, whichever that is; ``worse``: shown to break its rules more often than ``beaten_by``;
            ``undecided``: neither is shown; ``reference`` and ``better`` where a model was named to compare with;
            ``only model``: there is no other; ``unscored``.
        versus: the model that it is compared with.
        difference: its non-compliance minus that of ``versus`` on the cases that were asked of both, with Tango's
            interval; where verdicts are missing the interval holds whatever they are, and has no estimate.
        p: p-value of the difference that is clearest, corrected for the number of models by Holm.
        beaten_by: a model that is shown to break its rules less often, the clearest.
        because: what keeps an outcome undecided that would be decided without it: outputs without a verdict, models
            that were not asked.
        dropped_after: the number of cases after which it was shown to be worse and not asked any further.
    """

    outcome: RankingOutcome
    versus: str | None = None
    difference: Interval | None = None
    p: float | None = None
    beaten_by: str | None = None
    because: str | None = None
    dropped_after: int | None = None

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
        looks: the parts of the suite in a run that drops what is worse; none where all is asked at once.
        older_rule: whether the run stopped by a rule of earlier versions, which no test of this one goes with.
        weights: how many times each case counts.
        rank_by: what the table of outputs says of each: whether it keeps the rules, or whether it is right
            (``expected_outcomes``); what people's grades correct it to (``corrected_rankings``); or the name of a
            metric (``metric_rankings``). Decisions speak of breaking rules where they mean any of these.
    """

    tolerance: float = DEFAULT_TOLERANCE
    against: str | None = None
    confidence: float = 0.95
    looks: Looks = ()
    older_rule: bool = False
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
        models: the decisions, by model.
        options: what they were compared with.
    """

    models: Mapping[str, Decision]
    options: RankingOptions = RankingOptions()

    def having(self, *outcomes: RankingOutcome) -> tuple[str, ...]:
        """The models with one of these outcomes."""
        return tuple(model for model, decision in self.models.items() if decision.outcome in outcomes)

    @property
    def pool(self) -> tuple[str, ...]:
        """The models to choose from: those shown to be good enough, else all that are not ruled out."""
        decided_models = self.having("best", "tied", "reference", "better", "only model")
        return decided_models or self.having("undecided")


def rankings(rows: Source | Cells, order: Sequence[str], options: RankingOptions = RankingOptions()) -> Rankings:
    """The decisions about the models, from a table of outputs.

    Args:
        rows: a table of outputs, or what was counted of it.
        order: all models, those without outputs too.
        options: what they are compared with.

    Raises:
        InputError: the model to compare with is not one of them, or the run drops what is worse by another question.
    """
    cells = Cells.of(rows)
    return rank(counted(cells, order, weights=options.weights), options, Taken.of(cells, order, options))


@dataclass(frozen=True, slots=True)
class Taken:
    """How a run went that drops what is worse.

    Attributes:
        looks: those that were taken, each on a whole part of the suite.
        dropped: after how many cases a model was asked no more.
    """

    looks: Sequence[Look] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(cells: Cells, order: Sequence[str], options: RankingOptions) -> Taken:
        """A model that has no output in a part, not even one that was cut, was dropped before."""
        parts = [cells.only(frozenset(part)) for part in options.looks]
        models = [frozenset(model for model, size in part.sizes().items() if size) for part in parts]
        looks: list[Look] = []
        dropped: dict[str, int] = {}
        every, cases = cells, set[str]()
        for number, part in enumerate(parts if not options.older_rule else ()):
            if models[number]:
                dropped |= dict.fromkeys(models[0] - models[number] - set(dropped), len(cases))
            cases |= set(options.looks[number])
            if number == len(looks) < len(parts) - 1 and models[number] and not part.counts[:, :, UNASKED].any():
                known = counted(every.only(cases), order, weights=options.weights)
                looks.append((known.asked, frozenset(dropped)))
        return Taken(looks, dropped)


def worse_so_far(rows: Source | Cells, order: Sequence[str], options: RankingOptions) -> frozenset[str]:
    """The models that a look shows to be worse than another, from what is known of a run that drops them."""
    shown = shown_worse(Taken.of(Cells.of(rows), order, options).looks, options.alpha)
    return frozenset(loser for loser, _ in shown)


def rank(counts: Counted, options: RankingOptions, taken: Taken = Taken()) -> Rankings:
    """The decisions from counted outputs; ``taken`` says how a run went that drops what is worse."""
    require_no_looks(options)
    if options.older_rule:
        return Rankings(_by_older_rule(counts.asked), options)
    test = partial(_tested, counts.asked, options, taken)
    others = [test(reading="seen"), test(reading="for")] if _open(counts) else []
    return Rankings(_decisions(counts, test(), others, options, taken), options)


def _tested(grid: Grid, options: RankingOptions, taken: Taken, reading: Reading = "against") -> Suitability:
    given = {"tolerance": options.tolerance, "alpha": options.alpha}
    if not options.looks:
        return suitability(grid, against=options.against, reading=reading, **given)
    gone, planned = frozenset(taken.dropped), len(options.looks) - 1
    return suitability_after_looks(grid, taken.looks, gone, planned=planned, reading=reading, **given)


def _by_older_rule(grid: Grid) -> dict[str, Decision]:
    why = "the run stopped asking by an older rule, which no test goes with"
    scored = {name: bool(grid.scored(row)) for row, name in enumerate(grid.models)}
    alone: RankingOutcome = "only model" if len(scored) == 1 else "undecided"
    return {name: Decision(alone, because=why) if known else Decision("unscored") for name, known in scored.items()}


def require_no_looks(options: RankingOptions) -> None:
    """Refuses a question that a run did not go by when it dropped what is worse.

    Raises:
        InputError: models are compared with a named one, or ranked by something else than non-compliance.
    """
    dropping = "This run stopped asking models that broke their rules more often than others"
    if options.looks and options.against is not None:
        raise InputError(f"{dropping}: tests against one named model do not hold.")
    if options.looks and options.rank_by != "non-compliance":
        raise InputError(f"{dropping}: tests of {options.rank_by} do not hold.")


def _decisions(
    counts: Counted, shown: Suitability, others: Sequence[Suitability], options: RankingOptions, taken: Taken
) -> dict[str, Decision]:
    """The decisions; ``others`` are the outcomes if open outputs are left out, and if they came out for each claim."""
    decisions = {name: _decision(counts, model, shown, others, options) for name, model in shown.models.items()}
    lost = [name for name in taken.dropped if decisions[name].outcome != "worse"]
    why = "; ".join(f"{name} was not asked further after {taken.dropped[name]} cases" for name in lost)
    for name, one in decisions.items():
        because = "; ".join(filter(None, (one.because, why))) if one.outcome == "undecided" else one.because
        decisions[name] = replace(one, because=because or None, dropped_after=taken.dropped.get(name))
    return decisions


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
    if (decided and (decided[0] or (many and decided[1]))) or 1.0 in open_.values():
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
