"""Stopping when it is decided: decisions that stay right over all looks at a suite of known size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from promptpex.core.errors import InputError
from promptpex.stats.as_good_as_best import Losses, PairTests, Suitability, decide, pair_tests
from promptpex.stats.compare_two_models import Reading
from promptpex.stats.group_sequential import overall_p
from promptpex.stats.holm import holm
from promptpex.stats.outcome_grid import Completion, Grid
from promptpex.stats.proportions import effective_cases, repeat_correlation, share
from promptpex.stats.special import beta_cdf

Side = Literal["below", "above", "undecided"]


@dataclass(frozen=True, slots=True)
class SequentialSelection:
    """The decisions about models after some looks.

    Attributes:
        suitability: as `suitability` gives it, right over all looks together.
        close: per pair, the p-value over all looks that the first is less than the tolerance worse than the second.
    """

    suitability: Suitability
    close: Mapping[tuple[str, str], float]

    def settled(self, alpha: float) -> set[str]:
        """The models that need not be asked any more: their own decision is shown, and no other depends on them.

        An open decision may depend on being shown close to a model, however bad that one is.
        """
        models = self.suitability.models
        decided = {name for name, one in models.items() if one.claim}
        waiting = [name for name in models if name not in decided]
        most = max(1, len(models) - 1)
        return {m for m in decided if all(self.close.get((u, m), 1.0) * most <= alpha for u in waiting)}


def sequential_selection(
    looks: Sequence[Grid],
    planned: int,
    *,
    tolerance: float,
    alpha: float = 0.05,
    incomplete: Collection[str] = (),
    reading: Reading = "against",
) -> SequentialSelection:
    """Decisions by the tests of `suitability` at each look, at the error rate that each spends over all planned looks.

    Args:
        looks: the outputs known at each look so far, in order, at least one; a model that was stopped has fewer.
        planned: looks that the whole suite allows.
        tolerance, alpha, incomplete, reading: as for `suitability`.

    Raises:
        InputError: no look, or more than were planned.
    """
    if not 1 <= len(looks) <= planned:
        raise InputError(f"{len(looks)} looks of {planned} planned are impossible: look once at least.")
    tests = [pair_tests(grid, tolerance, reading=reading) for grid in looks]
    incomplete = incomplete if reading == "against" else ()
    return decided_by(tests, Losses.of(looks[-1]), planned, alpha=alpha, incomplete=incomplete)


def decided_by(
    tests: Sequence[PairTests],
    losses: Losses,
    planned: int,
    *,
    alpha: float = 0.05,
    incomplete: Collection[str] = (),
) -> SequentialSelection:
    """The same from the tests of each look: whoever looks again and again need not make those of earlier looks again.

    Args:
        tests: what `pair_tests` gives for each look so far, in order, at least one.
        losses: how the models stand at the last look.
        planned, alpha, incomplete: as for `sequential_selection`.
    """
    spent = over_looks(tests, planned)
    return SequentialSelection(decide(losses, spent, alpha=alpha, incomplete=incomplete), spent.close)


def over_looks(tests: Iterable[PairTests], planned: int) -> PairTests:
    """For each statement the least error rate, over all planned looks, at which one of these looks would make it."""
    worse: dict[tuple[str, str], float] = {}
    close: dict[tuple[str, str], float] = {}
    for look, at_look in enumerate(tests, 1):
        for least, p_values, sides in ((worse, at_look.worse, 2), (close, at_look.close, 1)):
            for couple, p in p_values.items():
                least[couple] = min(least.get(couple, 1.0), overall_p(p, look, planned, sides=sides))
    return PairTests(worse, close)


def versus_limit(looks: Sequence[Grid], planned: int, limit: float, *, alpha: float = 0.05) -> dict[str, Side]:
    """Per model on which side of a limit its non-compliance lies, right for all models at all looks together.

    Exact binomial tests at the number of independent cases, at each completion that speaks against the statement;
    corrected by Holm over the models.

    Raises:
        InputError: the limit is not a share.
    """
    if not 0.0 <= limit <= 1.0:
        raise InputError(f"The limit is {limit}: give a share between 0 and 1.")
    models = looks[-1].models
    least: dict[str, tuple[float, Side]] = dict.fromkeys(models, (1.0, "undecided"))
    for look, grid in enumerate(looks, 1):
        correlation = repeat_correlation(grid)
        for row, model in enumerate(models):
            for side in ("below", "above"):
                now = _side_p(grid, row, limit, side, correlation)
                p = overall_p(now, look, planned)
                least[model] = min(least[model], (p, side))
    corrected = holm([p for p, _ in least.values()])
    return {
        model: side if p <= alpha else "undecided"
        for (model, (_, side)), p in zip(least.items(), corrected, strict=True)
    }


def _side_p(grid: Grid, row: int, limit: float, side: Side, correlation: float) -> float:
    """Two-sided p-value behind "the share lies below, or above, the limit"."""
    completion: Completion = "worst" if side == "below" else "best"
    estimate = share(grid, row, completion)
    if estimate is None:
        return 1.0
    size = effective_cases(grid, grid.sizes(completion)[row], correlation, at=estimate)
    hits = estimate * size
    if side == "below":
        return min(1.0, 2.0 * beta_cdf(1.0 - limit, size - hits, hits + 1.0)) if hits < size else 1.0
    return min(1.0, 2.0 * beta_cdf(limit, hits, size - hits + 1.0)) if hits > 0 else 1.0
