"""EvalGen's choice against SPADE's, on the same labels and at the same limits; measured on outputs held out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from alignment_bench.trials import Shares, evalgen, measured, random_labels, shares_on
from alignment_bench.worlds import World, as_bits
from promptpex.alignment.choose import GradedOutputs
from promptpex.synthesis.selection.methods import Method, select
from promptpex.synthesis.selection.problem import SelectionProblem
from promptpex.synthesis.selection.result import Selection
from promptpex.synthesis.selection.thresholds import SelectionLimits

LIMITS = (Fraction(1, 10), Fraction(1, 5), Fraction(2, 5))
METHODS: dict[str, Method | None] = {"EvalGen's": None, "SPADE's cov": "cov", "SPADE's sub": "sub"}
LABELS = 48
"""Labels of a choice: as many outputs as a patient person grades."""


@dataclass
class Tally:
    """What a method comes to over all trials at one limit.

    Attributes:
        held_out: by kind of world, a set's shares on the outputs held out; None where no set was chosen.
        by_labels: the same on the labels that it was chosen by.
        seconds: all choices together.
        reason: why one of them chose nothing, in words.
    """

    held_out: list[list[Shares | None]] = field(default_factory=list)
    by_labels: list[list[Shares | None]] = field(default_factory=list)
    seconds: float = 0.0
    reason: str = ""


def compared(makers: Sequence[Callable[[int], World]], seeds: Sequence[int]) -> Iterator[tuple[Fraction, str, Tally]]:
    """By limit and method what the choices come to."""
    for limit in LIMITS:
        tallies = {name: Tally() for name in METHODS}
        for make in makers:
            for tally in tallies.values():
                tally.held_out.append([])
                tally.by_labels.append([])
            for seed in seeds:
                _choose(make(seed), seed, limit, tallies)
        for name, tally in tallies.items():
            yield limit, name, tally


def _choose(world: World, seed: int, limit: Fraction, tallies: dict[str, Tally]) -> None:
    graded = random_labels(world, LABELS, seed)
    for name, method in METHODS.items():
        begin = time.perf_counter()
        chosen, reason = _evalgen(world, graded, limit) if method is None else _spade(world, graded, limit, method)
        tally = tallies[name]
        tally.seconds += time.perf_counter() - begin
        tally.reason = tally.reason or reason
        tally.held_out[-1].append(measured(world, chosen, world.test) if chosen else None)
        tally.by_labels[-1].append(shares_on(world, chosen, graded.bad, graded.good) if chosen else None)


def _evalgen(world: World, graded: GradedOutputs, limit: Fraction) -> tuple[frozenset[str], str]:
    chosen = evalgen(world, graded, limit)
    return chosen, "" if chosen else "no candidate of any criterion keeps the limit and catches something"


def _spade(world: World, graded: GradedOutputs, limit: Fraction, method: Method) -> tuple[frozenset[str], str]:
    outputs = [output for output in world.pool if (graded.bad | graded.good) >> output & 1]
    good = as_bits(graded.good >> output & 1 for output in outputs)
    fails = tuple(as_bits(one.fails >> output & 1 for output in outputs) for one in world.contenders)
    problem = SelectionProblem(len(outputs), good, fails, _implications(world))
    selection = select(problem, method, SelectionLimits(ffr=limit), seconds=10.0)
    if selection.chosen is None:
        return frozenset(), _why_none(selection)
    return frozenset(world.contenders[number].id for number in selection.chosen), ""


def _implications(world: World) -> tuple[tuple[int, int], ...]:
    """Pairs (a, b): b fails no output, graded or not, that a passes; without them ``sub`` would choose nearly all."""
    every = world.test | as_bits(output in world.pool for output in range(max(world.pool) + 1))
    fails = [one.fails & every for one in world.contenders]
    return tuple(
        (a, b) for a in range(len(fails)) for b in range(len(fails)) if a != b and fails[b] and not fails[b] & ~fails[a]
    )


def _why_none(selection: Selection) -> str:
    why = selection.explanation
    if why is None or why.best_coverage is None:
        return selection.state
    least = f"at least {why.least_ffr.share:.0%} FFR" if why.least_ffr else "no FFR"
    return (
        f"at most {why.best_coverage.share:.0%} coverage is to be had within {float(selection.limits.ffr):.0%} FFR; "
        f"{float(selection.limits.coverage):.0%} coverage is to be had with {least}"
    )
