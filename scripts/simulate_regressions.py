"""How often `gate --baseline` is wrong, and what it finds: ``python scripts/simulate_regressions.py``.

Draws a baseline and a run whose true rates are known, asks the shipped functions at 5%, and prints a table (Markdown)
for each of

- ``paired``: the same cases. Each case has a rate of its own; the run's are higher so that the mean rises by the margin
  (an error, if a regression is shown), or by 10 or 20 points more (power). ``edits``: besides, the prompt's edit fixes
  a tenth of the cases and breaks as many;
- ``models``: five models that all rise by the margin: how often any is said to have risen by more;
- ``unscored``: a fifth of the outputs that speak for a regression, failures now and passes before, cannot be scored:
  how often a regression is shown, and how often it is left open.

- ``unchanged``: nothing has changed, and verdicts are missing at random in both: how often the build fails, and how
  often the gate cannot tell;

- ``noise``: the measured run-to-run noise: how often the interval of the share of cases that differ holds the truth,
  and how often two further runs are as near to each other as it says, at its estimate and at most.

Options: names of tables (default: all), ``--replications N`` (default 2,000), ``--seed N``.
With 2,000 replications about 20 minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from simulate_statistics import percent, rows

from promptpex.stats import Grid, holm, pair, regression_p, run_noise, statements
from promptpex.tables import regressions

ALPHA = 0.05
RATES = (0.05, 0.3)
MARGINS = (0.0, 0.03, 0.1)
SIZES = (30, 100, 300)
RISES = (0.0, 0.1, 0.2)
CHURN = 0.1
MOST_UNSCORED = 0.2
"""The chance that an output which speaks for a regression cannot be scored; others have none."""


def rates(rng: Any, base: float, cases: int) -> Any:
    """The rate of each case before: some are hard, some easy."""
    return rng.beta(base, 1 - base, cases) * 0.8 + base * 0.2


def risen(before: Any, rise: float) -> Any:
    """The rates after, so that their mean is higher by ``rise``."""
    return before + rise * (1 - before) / (1 - before.mean())


def churned(rng: Any, before: Any, after: Any) -> tuple[Any, Any]:
    """The same, where some cases are fixed and as many broken for certain; the mean difference stays."""
    cases = before.size
    order, some = rng.permutation(cases), round(CHURN * cases)
    fixed, broken = order[:some], order[some : 2 * some]
    before, after = before.copy(), after.copy()
    before[fixed], after[fixed], before[broken], after[broken] = 1.0, 0.0, 0.0, 1.0
    return before, after


def grid(rng: Any, sides: Sequence[Any], repeats: int) -> Grid:
    """A row for each side, each case asked ``repeats`` times."""
    broken = np.array([rng.binomial(repeats, np.clip(side, 0, 1)) for side in sides])
    cases = broken.shape[1]
    ones = np.ones(cases, dtype=np.int64)
    return Grid(tuple(map(str, range(len(sides)))), broken, repeats - broken, 0 * broken, ones)


def paired(rng: Any, rounds: int) -> None:
    """Error rate and power case by case."""

    def lines() -> Iterator[list[str]]:
        for churn in (False, True):
            for repeats in (1, 3):
                for base in RATES:
                    for margin in MARGINS:
                        yield [
                            "edits" if churn else "none",
                            *(str(repeats), f"{base:g}", f"{100 * margin:g}"),
                            *(
                                percent(_shown(rng, rounds, base, margin, rise, cases, repeats, churn=churn), rounds)
                                for cases in SIZES
                                for rise in RISES
                            ),
                        ]

    rows(["churn", "repeats", "rate before", "margin", *_heads()], lines())


def _heads() -> list[str]:
    return [
        f"{cases} cases, {'at the margin' if not rise else f'+{100 * rise:g}'}" for cases in SIZES for rise in RISES
    ]


def _shown(
    rng: Any, rounds: int, base: float, margin: float, rise: float, cases: int, repeats: int, *, churn: bool
) -> int:
    count = 0
    for _ in range(rounds):
        before = rates(rng, base, cases)
        after = risen(before, margin + rise)
        if churn:
            before, after = churned(rng, before, after)
            after = risen(after, max(0.0, margin + rise - (after.mean() - before.mean())))
        count += regression_p(pair(grid(rng, (before, after), repeats), 1, 0), margin) <= ALPHA
    return count


def models(rng: Any, rounds: int) -> None:
    """Runs in which any of five models that rose by the margin is said to have risen by more."""

    def lines() -> Iterator[list[str]]:
        for base in RATES:
            for margin in MARGINS:
                yield [
                    f"{base:g}",
                    f"{100 * margin:g}",
                    *(percent(_any(rng, rounds, base, margin, cases), rounds) for cases in SIZES),
                ]

    rows(["rate before", "margin", *(f"{cases} cases" for cases in SIZES)], lines())


def _any(rng: Any, rounds: int, base: float, margin: float, cases: int) -> int:
    count = 0
    for _ in range(rounds):
        before = rates(rng, base, cases)
        after = risen(before, margin)
        p_values = [regression_p(pair(grid(rng, (before, after), 1), 1, 0), margin) for _ in range(5)]
        count += min(holm(p_values)) <= ALPHA
    return count


def unscored(rng: Any, rounds: int) -> None:
    """How often a regression is shown, and left open, where outputs that speak for it go missing."""

    def lines() -> Iterator[list[str]]:
        for base in RATES:
            for margin in MARGINS:
                cells = []
                for cases in SIZES:
                    for rise in RISES:
                        shown, open_ = _missing(rng, rounds, base, margin, rise, cases)
                        cells.append(f"{percent(shown, rounds)} / {percent(open_, rounds)}")
                yield [f"{base:g}", f"{100 * margin:g}", *cells]

    rows(["rate before", "margin", *_heads()], lines())


def _missing(rng: Any, rounds: int, base: float, margin: float, rise: float, cases: int) -> tuple[int, int]:
    shown = left_open = 0
    for _ in range(rounds):
        before = rates(rng, base, cases)
        whole = grid(rng, (before, risen(before, margin + rise)), 1)
        lost = rng.random(whole.broken.shape) < MOST_UNSCORED
        speaks = np.array([whole.kept[0], whole.broken[1]]) > 0
        open_ = (lost & speaks).astype(np.int64)
        broken = whole.broken - np.array([0 * open_[0], open_[1]])
        seen = Grid(whole.models, broken, whole.asked - broken - open_, open_, whole.weights)
        against, for_it = (
            regression_p(replace(statements(seen, 1, 0, reading=how).worse, surer=False), margin) <= ALPHA
            for how in ("against", "for")
        )
        shown += against
        left_open += for_it and not against
    return shown, left_open


def unchanged(rng: Any, rounds: int) -> None:
    """How often `gate --baseline` fails a build in which nothing has changed, and how often it cannot tell."""

    def lines() -> Iterator[list[str]]:
        for lost in (0.02, 0.05, 0.1):
            for base in (0.1, 0.3):
                for margin in (0.0, 0.03):
                    cells = (_unchanged(rng, rounds, base, margin, lost, cases) for cases in (100, 300))
                    yield [f"{100 * lost:g}", f"{base:g}", f"{100 * margin:g}", *cells]

    rows(
        ["verdicts missing", "rate", "margin", *(f"{cases} cases: fails / cannot tell" for cases in (100, 300))],
        lines(),
    )


def _unchanged(rng: Any, rounds: int, base: float, margin: float, lost: float, cases: int) -> str:
    outcomes = Counter(
        str(
            regressions(*_outputs(rng, base, lost, cases), models=[("m", "m")], cases=NAMES[:cases], margin=margin)[
                "regression"
            ].iloc[0]
        )
        for _ in range(rounds)
    )
    return f"{percent(outcomes['shown'], rounds)} / {percent(outcomes['open'] + outcomes['too few'], rounds)}"


NAMES = [f"c{number}" for number in range(max(SIZES))]


def _outputs(rng: Any, base: float, lost: float, cases: int) -> Iterator[Any]:
    """Two tables of outputs of one model, with the same rate of each case."""
    chance = rates(rng, base, cases)
    for _ in range(2):
        verdict = np.where(rng.random(cases) < lost, "unscored", np.where(rng.random(cases) < chance, "fail", "pass"))
        columns = {"model": "m", "case": NAMES[:cases], "rule": "r1", "verdict": verdict, "error": None}
        yield pd.DataFrame(columns).astype("string").assign(inverse=False)


def noise(rng: Any, rounds: int) -> None:
    """How often the interval of what differs holds the truth, and how often two further runs are as near as is said."""

    def lines() -> Iterator[list[str]]:
        for runs in (2, 4):
            for base in (0.02, 0.1, 0.3):
                cells = (_noise(rng, rounds, base, cases, runs) for cases in SIZES)
                yield [str(runs), f"{base:g}", *cells]

    rows(["runs", "rate", *(f"{cases} cases: interval / points / at most" for cases in SIZES)], lines())


def _noise(rng: Any, rounds: int, base: float, cases: int, runs: int) -> str:
    held = near = nearer = 0
    for _ in range(rounds):
        chance = rates(rng, base, cases)
        measured = run_noise(grid(rng, (chance,), runs), 0)
        assert measured is not None
        truth = float(2 * (chance * (1 - chance)).mean())
        apart = abs(int(rng.binomial(1, chance).sum()) - int(rng.binomial(1, chance).sum())) / cases
        held += measured.differing.low <= truth <= measured.differing.high
        near += apart <= measured.points + 1e-9
        nearer += apart <= measured.points_at_most + 1e-9
    return " / ".join(percent(count, rounds) for count in (held, near, nearer))


TABLES: dict[str, tuple[str, Callable[[Any, int], None]]] = {
    "paired": ("Regressions shown in % of the runs, the same cases.", paired),
    "models": ("Runs in % in which any of five models is said to have risen by more than the margin.", models),
    "unchanged": (
        "Builds that fail / of which the gate cannot tell, in %, where nothing has changed and verdicts are missing.",
        unchanged,
    ),
    "noise": ("Measured noise: how often, in %, its figures hold.", noise),
    "unscored": (
        "Regressions shown / left open, in % of the runs, where outputs that speak for one go missing.",
        unscored,
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Prints the tables that are named."""
    parser = argparse.ArgumentParser(description="How often gate --baseline is wrong.")
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], default=[])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    for number, name in enumerate(options.tables or TABLES):
        title, table = TABLES[name]
        print(f"\n{title} {options.replications} replications at most; margins and rises in points.\n")
        table(np.random.default_rng([options.seed, number]), options.replications)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
