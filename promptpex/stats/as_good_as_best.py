"""Which models are shown to be as good as the best, which to be worse, and where the data cannot tell.

A missing difference is not a tie. Two statements are possible about a model, each with its own test on the cases that
were asked of both models, where a case counts by the mean of its repeats:

- *worse*: some other model breaks its rules less often. Exact sign flips for every pair of models, corrected by Holm
  over all pairs. All pairs, not the winner against the rest: the winner is picked by looking at the data, and a
  correction over k-1 comparisons with it would ignore that choice.
- *tied*: less than the tolerance worse than the best, whichever model that is in truth: shown only if a non-inferiority
  test against every other model with a scored output succeeds (an intersection-union test, Berger 1982, Technometrics
  24:295, which needs no correction over the others, and no knowledge of who is best), corrected by Holm over the
  models, of which k-1 at most can be out of tolerance: the best is not.

What neither test shows is *undecided*. Each kind of statement is wrong about any model at all with probability alpha
at most, the rules being those of the prompt: fixed. And each holds however the outputs that were asked for and could
not be scored would have come out: both completions are tested.

The tolerance is 5 percentage points unless told otherwise: one case in twenty, about what asking the same model again
moves, and the finest that suites of one to two hundred cases can show; the number of cases needed grows with the
inverse of it squared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from types import MappingProxyType
from typing import Literal

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.compare_two_models import Reading, Statements, more_failures_p, statements, tie_p
from promptpex.stats.holm import holm
from promptpex.stats.outcome_grid import Grid
from promptpex.stats.proportions import share

DEFAULT_TOLERANCE = 0.05
"""A convention: a loss that a cheaper model may be worth, and that a hundred cases can rule out."""

Outcome = Literal["only model", "best", "reference", "better", "tied", "worse", "undecided", "unscored"]

Couple = tuple[str, str]
PValues = Mapping[Couple, float]
"""The p-value of a statement on each ordered pair of models."""


@dataclass(frozen=True, slots=True)
class PairTests:
    """The p-values that decisions rest on, not corrected yet.

    Attributes:
        worse: of "the first breaks its rules more often than the second".
        close: of "the first breaks its rules less than the tolerance more often than the second".
    """

    worse: dict[Couple, float]
    close: dict[Couple, float]


@dataclass(frozen=True, slots=True)
class Losses:
    """How models stand before any test.

    Attributes:
        models: the names, each once.
        scored: scored outputs of each.
        losses: what each loses as far as it is known, as a share: of broken outputs, or 1 minus a mean score.
    """

    models: tuple[str, ...]
    scored: tuple[int, ...]
    losses: tuple[float, ...]

    @staticmethod
    def of(grid: Grid) -> Losses:
        """By the shares of outputs that break a rule."""
        rows = range(len(grid.models))
        return Losses(grid.models, tuple(map(grid.scored, rows)), tuple(share(grid, row) or 0.0 for row in rows))

    def scored_of(self, model: str) -> int:
        """The scored outputs of a model."""
        return self.scored[self.models.index(model)]


@dataclass(frozen=True, slots=True)
class ModelDecision:
    """The decision about a model.

    Attributes:
        model: its name.
        outcome: ``best``: every other model is shown to be worse; ``tied``; ``worse`` than ``beaten_by``;
            ``undecided``; ``reference`` and ``better`` where a model was named; ``only model``; ``unscored``: it has
            no scored output.
        beaten_by: the model that is shown to break its rules less often, the clearest; None if there is none.
        p: corrected p-value of the difference that says most: from the model that beats it, else from the anchor.
        within_tolerance: whether it is shown to be less than the tolerance worse; may hold together with ``worse``.
    """

    model: str
    outcome: Outcome
    beaten_by: str | None = None
    p: float = 1.0
    within_tolerance: bool = False

    @property
    def claim(self) -> bool:
        """Whether the outcome is a statement that a test has shown."""
        return self.outcome in ("best", "better", "tied", "worse")


@dataclass(frozen=True, slots=True)
class Suitability:
    """The decisions about all models.

    Attributes:
        anchor: the best model seen, or the named reference; None when nothing was scored.
        models: a decision about each model, in the order of the grid.
    """

    anchor: str | None
    models: Mapping[str, ModelDecision]


def suitability(
    grid: Grid,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    alpha: float = 0.05,
    against: str | None = None,
    reading: Reading = "against",
) -> Suitability:
    """Sort models into best, tied with the best, shown to be worse, and undecided; or in comparison with a named one.

    Args:
        grid: the outputs of all models, those without any too.
        tolerance: the loss that one is ready to accept, as a share.
        alpha: the probability of any wrong statement, for each of the two kinds of statement.
        against: a reference fixed before the data are seen; there is one statement of each kind per other model.
        reading: of open outputs; what is not read ``against`` the statements is not claimed.

    Raises:
        InputError: the reference is not one of the models.
    """
    tests = pair_tests(grid, tolerance, against=against, reading=reading)
    return decide(Losses.of(grid), tests, alpha=alpha, against=against)


def pair_tests(grid: Grid, tolerance: float, *, against: str | None = None, reading: Reading = "against") -> PairTests:
    """The p-values of all statements on the models that have a scored output, or on each and the reference.

    Raises:
        InputError: the reference is not one of the models, or the tolerance is not a share.
    """
    of_two = partial(statements, grid, reading=reading)
    return pairwise_tests(Losses.of(grid), of_two, tolerance, against=against)


def pairwise_tests(
    losses: Losses, of_two: Callable[[int, int], Statements], tolerance: float, *, against: str | None = None
) -> PairTests:
    """The same for whatever models lose, from the statements on two of them by their numbers.

    Raises:
        InputError: as ``pair_tests``.
    """
    require_share("tolerance", tolerance)
    models = losses.models
    if against is not None and against not in models:
        raise InputError(f"There is no model {against!r} to compare with: name one of {', '.join(models)}.")
    live = [(number, name) for number, name in enumerate(models) if losses.scored[number]]
    tests = PairTests({}, {})
    for (i, first), (j, second) in permutations(live, 2):
        if against not in (None, first, second):
            continue
        pairs = of_two(i, j)
        tests.worse[first, second] = more_failures_p(pairs.worse)
        if against in (None, second):
            tests.close[first, second] = tie_p(pairs.close, tolerance)
    return tests


def decide(
    losses: Losses, tests: PairTests, *, alpha: float, against: str | None = None, shown: PValues = MappingProxyType({})
) -> Suitability:
    """The decisions that p-values lead to; ``shown`` are corrected ones of what is shown to be worse already."""
    require_share("alpha", alpha)
    anchor = _anchor(losses) if against is None else against
    if anchor is None or (against is not None and not losses.scored_of(against)):
        return Suitability(against, {name: ModelDecision(name, _nothing(losses, name)) for name in losses.models})
    worse = {**corrected_worse(tests.worse), **shown}
    models = _claims(losses, tests, worse, alpha, anchor, against)
    leader = next((name for name, one in models.items() if one.outcome == "best"), anchor)
    return Suitability(leader, models)


def _claims(
    losses: Losses, tests: PairTests, worse: PValues, alpha: float, anchor: str, against: str | None
) -> dict[str, ModelDecision]:
    close = corrected_close(losses.models, tests.close, against)
    decisions = {}
    for name in losses.models:
        beating = [other for other in losses.models if worse.get((name, other), 1.0) <= alpha]
        beaten = min(beating, key=lambda other: (worse[name, other], tests.worse[name, other]), default=None)
        speaking = [(name, anchor), (anchor, name)] if beaten is None else [(name, beaten)]
        decisions[name] = ModelDecision(
            model=name,
            outcome="worse" if beaten is not None and name != against else "undecided",
            beaten_by=beaten,
            p=min(worse.get(couple, 1.0) for couple in speaking),
            within_tolerance=close.get(name, 1.0) <= alpha,
        )
    better = {name for name in losses.models if against is not None and worse.get((against, name), 1.0) <= alpha}
    return {
        name: replace(one, outcome=_outcome(losses, one, decisions, better, against)) for name, one in decisions.items()
    }


def _outcome(
    losses: Losses,
    one: ModelDecision,
    decisions: Mapping[str, ModelDecision],
    better: Collection[str],
    against: str | None,
) -> Outcome:
    if not losses.scored_of(one.model):
        return "unscored"
    if one.model == against:
        return "reference"
    if one.outcome == "worse":
        return "worse"
    if one.model in better:
        return "better"
    others = [other for other in decisions.values() if other is not one]
    if not others:
        return "only model"
    if against is None and all(other.outcome == "worse" for other in others):
        return "best"
    return "tied" if one.within_tolerance else "undecided"


def corrected_worse(p: PValues) -> dict[Couple, float]:
    """Corrected by Holm over the pairs of models, of whose two directions the one with the smaller p-value counts."""
    least = {(a, b): value for (a, b), value in p.items() if (value, a) <= (p.get((b, a), 1.0), b)}
    corrected = dict(zip(least, holm(list(least.values())), strict=True))
    return {couple: corrected.get(couple, 1.0) for couple in p}


def corrected_close(models: Sequence[str], p: PValues, against: str | None = None) -> dict[str, float]:
    """Per model the p-value of being close to every other, corrected by Holm over the models.

    A model without a common case, one that was never asked say, may be the best, so none is shown to be close to it.
    Where no reference is named, the truly best model is close to all: at most k-1 of the k statements can be false.
    """
    live = [model for model in models if any(model == first for first, _ in p)]
    rivals = [against] if against is not None else models
    greatest = [max(p.get((model, rival), 1.0) for rival in rivals if rival != model) for model in live]
    return dict(zip(live, holm(greatest, most=None if against is not None else max(1, len(models) - 1)), strict=True))


def _anchor(losses: Losses) -> str | None:
    """The least loss seen among models with at least half as many scored outputs as the one with most, so that one
    lucky answer does not win."""
    most = max(losses.scored, default=0)
    if most == 0:
        return None
    rivals = [number for number, scored in enumerate(losses.scored) if 2 * scored >= most]

    def rank(number: int) -> tuple[float, int, str]:
        name = losses.models[number]
        return (losses.losses[number], -losses.scored[number], name)

    return losses.models[min(rivals, key=rank)]


def _nothing(losses: Losses, model: str) -> Outcome:
    """The outcome for a model where there is none to compare with."""
    return "undecided" if losses.scored_of(model) else "unscored"
