"""How often intervals miss and claims are wrong, and what they can show: ``python scripts/simulate_statistics.py``.

Draws suites whose truth is known, asks the shipped functions, and prints tables (Markdown) of

- ``intervals``: coverage and mean width of the interval of non-compliance, rules fixed;
- ``weights``: the same where cases weigh differently, and break differently;
- ``differences``: the same for the interval of the difference of two models;
- ``places``: how often any model is falsely called worse or tied, and how often true gaps and ties are shown;
- ``deadlines``: coverage in runs that a deadline, Ctrl-C or a budget ends, where failures take longer (a tenth of the
  replications);
- ``dropping``: the same for --drop-worse over all looks together, and what it saves.

Options: names of tables (default: all), ``--replications N`` (default 2,000), ``--seed N``. Everything is bounded: with
2,000 replications about an hour on one core; with 100, two minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from promptpex.stats import (
    DEFAULT_TOLERANCE,
    Grid,
    Interval,
    Look,
    Suitability,
    difference_interval,
    looks_at,
    open_mean_interval,
    pair,
    share_interval,
    shown_worse,
    suitability,
    suitability_after_looks,
)
from promptpex.stats.intervals import score_bounds
from promptpex.tables import Counted
from promptpex.tables.accuracy import accuracy_cells

RULES = 16
RATES = (0.01, 0.05, 0.1, 0.3, 0.5, 0.9)
SIZES = (30, 100, 300)
Z95 = 1.959964
"""The quantile of the normal distribution for a two-sided 95%."""


def covers(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


def drawn(rng: Any, rates: Sequence[Any], cases: int, *, repeats: int = 1, alike: float = 0.5) -> Grid:
    """Models that break a rule with chances ``rates``, one figure or one per case; ``alike`` correlates the repeats."""
    broken = []
    for rate in rates:
        chance = np.clip(np.broadcast_to(np.asarray(rate, dtype=float), cases), 1e-9, 1 - 1e-9)
        if repeats > 1:
            chance = rng.beta(chance * (1 - alike) / alike, (1 - chance) * (1 - alike) / alike)
        broken.append(rng.binomial(repeats, chance))
    table = np.array(broken)
    names = tuple(f"m{row}" for row in range(len(rates)))
    return Grid(names, table, repeats - table, np.zeros_like(table), np.ones(cases, dtype=np.int64))


def rows(header: Sequence[str], lines: Iterator[Sequence[str]]) -> None:
    """Prints a table, a line as soon as it is known."""
    print(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for line in lines:
        print(f"| {' | '.join(line)} |", flush=True)


def percent(count: float, of: int) -> str:
    return f"{100 * count / of:.1f}"


def intervals(rng: Any, rounds: int) -> None:
    """Rules fixed: all cases alike, or each rule with a rate of its own that stays."""
    worlds = (("all cases alike", 1, 0.0), ("rules differ", 1, 0.2), ("rules differ", 3, 0.2))

    def lines() -> Iterator[list[str]]:
        for name, repeats, between in worlds:
            for cases in SIZES:
                cells = [_covered(rng, rounds, rate, cases, repeats, between) for rate in RATES]
                yield [name, str(repeats), str(cases), *cells]

    print("\nCoverage of the 95% interval in %, and its mean width as a multiple of Wilson's; rules fixed.")
    rows(("world", "repeats", "cases", *map(str, RATES)), lines())


def _covered(rng: Any, rounds: int, rate: float, cases: int, repeats: int, between: float) -> str:
    spread = (1 - between) / between if between else 0.0
    of_rule = rng.beta(rate * spread, (1 - rate) * spread, RULES) if spread else np.full(RULES, rate)
    chance = of_rule[np.arange(cases) % RULES]
    truth, inside, width, plain = float(chance.mean()), 0, 0.0, 0.0
    for _ in range(rounds):
        made = drawn(rng, [chance, chance, chance], cases, repeats=repeats)
        interval = share_interval(made, 0)
        inside += covers(interval, truth)
        width += interval.width
        low, high = score_bounds(round((interval.estimate or 0.0) * cases) / cases, cases, Z95)
        plain += high - low
    return f"{percent(inside, rounds)} ({width / plain:.2f})"


def accuracies(rng: Any, rounds: int) -> None:
    """Few cases, as those with an expected output often are, drawn from many that differ in how hard they are."""

    def lines() -> Iterator[list[str]]:
        for repeats in (1, 3):
            for cases in (10, 20, 50):
                cells = [_accurate(rng, rounds, accuracy, cases, repeats) for accuracy in (0.1, 0.5, 0.8, 0.9, 0.98)]
                yield [str(repeats), str(cases), *cells]

    print("\nCoverage of the 95% interval of accuracy in %, and how often its lower end is above the truth.")
    rows(("repeats", "cases", "0.1", "0.5", "0.8", "0.9", "0.98"), lines())


def _accurate(rng: Any, rounds: int, accuracy: float, cases: int, repeats: int) -> str:
    inside = above = 0
    for _ in range(rounds):
        wrong = rng.beta(1 - accuracy, accuracy, cases)
        made = drawn(rng, [wrong], cases, repeats=repeats, alike=1e-6)
        cells = accuracy_cells(Counted(made, made, {}, {}), "m0", 0.95)
        inside += cells["accuracy_ci_low"] <= accuracy <= cells["accuracy_ci_high"]
        above += accuracy < cells["accuracy_ci_low"]
    return f"{percent(inside, rounds)} ({percent(above, rounds)})"


def metrics(rng: Any, rounds: int) -> None:
    """Scores of 0 to 100 that differ from case to case, from hardly (spread .1) to as much as they can (.9)."""

    def lines() -> Iterator[list[str]]:
        for spread in (0.1, 0.5, 0.9):
            for cases in (10, 20, 50):
                cells = [_scored(rng, rounds, mean, cases, spread) for mean in (0.1, 0.5, 0.8, 0.9, 0.98)]
                yield [f"{spread:g}", str(cases), *cells]

    print("\nCoverage of the 95% interval of a metric in %, and how often its lower end is above the truth.")
    rows(("spread", "cases", "0.1", "0.5", "0.8", "0.9", "0.98"), lines())


def _scored(rng: Any, rounds: int, mean: float, cases: int, spread: float) -> str:
    inside = above = 0
    for _ in range(rounds):
        size = (1 - spread) / spread
        values = rng.beta(mean * size, (1 - mean) * size, cases)
        interval = open_mean_interval(values.tolist(), values.tolist())
        inside += covers(interval, mean)
        above += mean < interval.low
    return f"{percent(inside, rounds)} ({percent(above, rounds)})"


Kinds = Sequence[tuple[int, int, float]]
"""Cases by kind: how many, their weight, and their chance to break a rule."""


def weights(rng: Any, rounds: int) -> None:
    """Each case asked once, its weight by its kind."""
    few = [((10, 10, chance), (90, 1, 0.0)) for chance in (0.05, 0.1, 0.3, 0.5, 0.8)]
    alike = [((10, 10, chance), (90, 1, chance)) for chance in (0.05, 0.3, 0.5)]
    halves = [((40, 3, 0.1), (40, 1, 0.5)), ((40, 3, 0.3), (40, 1, 0.0))]

    def lines() -> Iterator[list[str]]:
        for kinds in (*few, *alike, *halves, ((3, 5, 0.5), (27, 1, 0.0)), ((30, 10, 0.5), (270, 1, 0.0))):
            case_weights = ", ".join(f"{count} x {weight}" for count, weight, _ in kinds)
            yield [case_weights, ", ".join(f"{chance:g}" for *_, chance in kinds), _weighed(rng, rounds, kinds)]

    print("\nCoverage of the 95% interval in %, and its mean width in points, with weights; rules fixed.")
    rows(("cases x weight", "rates", "coverage"), lines())


def _weighed(rng: Any, rounds: int, kinds: Kinds) -> str:
    counts, weight, chance = (np.array(column) for column in zip(*kinds, strict=True))
    weight, chance = np.repeat(weight, counts), np.repeat(chance, counts)
    truth, inside, width = float(np.average(chance, weights=weight)), 0, 0.0
    for _ in range(rounds):
        interval = share_interval(replace(drawn(rng, [chance], len(chance)), weights=weight), 0)
        inside += covers(interval, truth)
        width += interval.width
    return f"{percent(inside, rounds)} ({100 * width / rounds:.0f})"


def differences(rng: Any, rounds: int) -> None:
    """Cases hard for both models or for each apart; repeats of a case correlated by .4."""
    worlds = [(base, gap) for base in (0.3, 0.05) for gap in (0.0, 0.05, 0.2)]

    def lines() -> Iterator[list[str]]:
        for repeats in (1, 3):
            for cases in SIZES:
                for shared in (False, True):
                    cells = [_apart(rng, rounds, *world, cases, repeats, shared) for world in worlds]
                    yield [str(repeats), str(cases), "shared" if shared else "apart", *cells]

    print("\nCoverage of the 95% interval of a difference in %, and its mean width in points. The second model breaks")
    print(".3, or .05, of the cases, the first the gap more; hard cases are hard for both models or for each apart.")
    rows(("repeats", "cases", "hard", *(f"{base:g}, gap {gap:g}" for base, gap in worlds)), lines())


def _apart(rng: Any, rounds: int, base: float, gap: float, cases: int, repeats: int, shared: bool) -> str:
    hardness = [np.sort(rng.beta(rate * 1.5, (1 - rate) * 1.5, 100_000)) for rate in (base + gap, base)]
    truth, inside, width = float(hardness[0].mean() - hardness[1].mean()), 0, 0.0
    for _ in range(rounds):
        ranks = rng.integers(0, 100_000, (2, cases))
        chances = [hard[ranks[0 if shared else row]] for row, hard in enumerate(hardness)]
        table = rng.binomial(repeats, np.array(chances))
        even = np.ones(cases, dtype=np.int64)
        made = Grid(("a", "b"), table, repeats - table, np.zeros_like(table), even)
        interval = difference_interval(pair(made, 0, 1))
        inside += covers(interval, truth)
        width += interval.width
    return f"{percent(inside, rounds)} ({100 * width / rounds:.0f})"


Claims = tuple[bool, bool]
"""Whether any model is falsely called worse, and falsely tied."""


def claims(decisions: Suitability, rates: Sequence[float]) -> Claims:
    rate = {f"m{row}": value for row, value in enumerate(rates)}
    worse = [one for one in decisions.models.values() if one.beaten_by and rate[one.beaten_by] >= rate[one.model]]
    tied = [
        one
        for one in decisions.models.values()
        if one.within_tolerance and rate[one.model] - min(rates) >= DEFAULT_TOLERANCE - 1e-9
    ]
    return bool(worse), bool(tied)


def places(rng: Any, rounds: int) -> None:
    """False and true claims of one look."""

    def lines() -> Iterator[list[str]]:
        for repeats in (1, 3):
            for models in (2, 5, 8):
                for cases in SIZES:
                    yield [str(repeats), str(models), str(cases), *_places(rng, rounds, models, cases, repeats)]

    header = ("repeats", "models", "cases", "false worse", "false tie", "gap of 10 shown", "tie shown")
    print(
        "\nRuns in % in which any model is falsely called worse (all at 10%) or tied (one at 10%, the others at 15%),"
    )
    print("and in which a model at 15% is called worse than the others at 5%, or all at 5% are called tied.")
    rows(header, lines())


def _places(rng: Any, rounds: int, models: int, cases: int, repeats: int) -> list[str]:
    equal, apart = [0.1] * models, [0.1] + [0.15] * (models - 1)
    gap, close = [0.05] * (models - 1) + [0.15], [0.05] * models
    counts = np.zeros(4)
    for _ in range(rounds):
        decisions = [suitability(drawn(rng, rates, cases, repeats=repeats)) for rates in (equal, apart, gap, close)]
        false_worse, false_tie = claims(decisions[0], equal)[0], claims(decisions[1], apart)[1]
        worst = decisions[2].models[f"m{models - 1}"]
        tied = all(one.outcome == "tied" for one in decisions[3].models.values())
        counts += (false_worse, false_tie, worst.outcome == "worse", tied)
    return [percent(count, rounds) for count in counts]


def batches(rng: Any, rounds: int) -> None:
    """Several prompts at once, on each of which all models are equally good: how many show a difference."""

    def lines() -> Iterator[list[str]]:
        for prompts in (14, 40):
            for models in (2, 5):
                for cases in (30, 100):
                    yield [str(prompts), str(models), str(cases), *_batches(rng, rounds, prompts, models, cases)]

    print(
        "\nOn each prompt all models break a rule equally often, at a rate drawn from 2% to 50%. Prompts in % that show"
    )
    print("a model as worse, and batches in % in which that many prompts do.")
    rows(("prompts", "models", "cases", "prompts", "one or more", "two or more", "a fifth or more"), lines())


def _batches(rng: Any, rounds: int, prompts: int, models: int, cases: int) -> list[str]:
    wrong = np.zeros(rounds)
    for number in range(rounds):
        for rate in rng.uniform(0.02, 0.5, prompts):
            decisions = suitability(drawn(rng, [float(rate)] * models, cases))
            wrong[number] += any(one.outcome == "worse" for one in decisions.models.values())
    batches_of = [percent(float((wrong >= least).sum()), rounds) for least in (1, 2, prompts / 5)]
    return [percent(float(wrong.sum()), rounds * prompts), *batches_of]


def dropping(rng: Any, rounds: int) -> None:
    """--drop-worse: every claim of every look and of the end counts; shares of models as they stand at the end."""
    worlds = (
        (0.1, 0.1),
        (0.1, 0.2),
        (0.05, 0.15),
        (0.1, 0.4),
        (0.1,) * 5,
        (0.05, 0.05, 0.05, 0.2, 0.4),
        (0.1,) + (0.4,) * 4,
    )

    def lines() -> Iterator[list[str]]:
        for rates in worlds:
            for cases in (100, 300):
                yield [", ".join(f"{rate:g}" for rate in rates), str(cases), *_dropping(rng, rounds, rates, cases)]

    print("\nRuns in % with --drop-worse in which any claim was false, in which the last model is called worse, and in")
    print("which it is without dropping; the outputs that were asked in %; the least coverage of an interval in %.")
    header = ("rates", "cases", "false worse", "false tie", "last worse", "without", "asked", "coverage")
    rows(header, lines())


def _dropping(rng: Any, rounds: int, rates: Sequence[float], cases: int) -> list[str]:
    counts, covered = np.zeros(5), np.zeros(len(rates))
    for _ in range(rounds):
        whole = drawn(rng, rates, cases)
        decisions, known = raced(whole)
        last = [one.models[f"m{len(rates) - 1}"].outcome == "worse" for one in (decisions, suitability(whole))]
        counts += (*claims(decisions, rates), *last, known.asked.mean())
        covered += [covers(share_interval(known, row), rate) for row, rate in enumerate(rates)]
    return [*(percent(count, rounds) for count in counts), percent(covered.min(), rounds)]


def raced(whole: Grid) -> tuple[Suitability, Grid]:
    """One run that drops models as it goes: the decisions, and what was asked."""
    *at, cases = looks_at(whole.broken.shape[1])
    gone: dict[str, int] = {}
    taken: list[Look] = []

    def known(end: int) -> Grid:
        some = whole.only(np.arange(end))
        inside = np.arange(end)[None, :] < np.array([gone.get(name, end) for name in whole.models])[:, None]
        return replace(some, broken=some.broken * inside, kept=some.kept * inside)

    for end in at:
        taken.append((known(end), frozenset(gone)))
        gone |= {loser: end for loser, _ in shown_worse(taken, 0.05) if loser not in gone}
    final = known(cases)
    gone_by_then = frozenset(gone)
    return suitability_after_looks(final, taken, gone_by_then, tolerance=DEFAULT_TOLERANCE, planned=len(at)), final


def deadlines(rng: Any, rounds: int) -> None:
    """Runs of 100 cases, of which 30% fail, that end when about half is asked."""
    import simulated_deadlines

    runs = max(1, rounds // 10)
    print(
        f"\nCoverage in % of the interval joined with the bounds, and of the interval alone; {runs} runs of each world."
    )
    rows(
        ("world", "joined", "interval", "failures among all scored", "scored", "cut", "without a figure"),
        simulated_deadlines.lines(rng, runs),
    )


TABLES: dict[str, Callable[[Any, int], None]] = {
    "intervals": intervals,
    "accuracies": accuracies,
    "metrics": metrics,
    "weights": weights,
    "differences": differences,
    "places": places,
    "batches": batches,
    "dropping": dropping,
    "deadlines": deadlines,
}


def main(arguments: Sequence[str]) -> int:
    """Prints the tables that are named, each from the same seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"one of {', '.join(TABLES)}")
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    strange = [name for name in given.tables if name not in TABLES]
    if strange or given.replications < 1:
        parser.error(f"there is no table {strange[0]!r}" if strange else "give 1 replication or more")
    for name in given.tables or TABLES:
        start = time.process_time()
        TABLES[name](np.random.default_rng(given.seed), given.replications)
        error = 100 * (0.05 * 0.95 / given.replications) ** 0.5
        print(
            f"\n{given.replications} replications, standard error of a 5% {error:.1f} points; "
            f"{time.process_time() - start:.0f} s of CPU."
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
