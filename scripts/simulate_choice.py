#!/usr/bin/env python3
"""Simulates how often the intervals of a choice's figures hold the truth.

python scripts/simulate_choice.py            # about five minutes
python scripts/simulate_choice.py --draws 50 # roughly, in seconds
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptpex.alignment.choose import Contender, GradedOutputs, Wanted  # noqa: E402
from promptpex.alignment.cross_fit import WHOLE_SET, chosen_by, cross_fitted_choice  # noqa: E402
from promptpex.core.records import CardFigure  # noqa: E402
from promptpex.stats import Interval, PpiItem, harmonic_mean, korn_graubard, ppi_conditional  # noqa: E402
from promptpex.synthesis.choice.choose import choose_from_matrix  # noqa: E402
from promptpex.synthesis.selection.problem import SelectionProblem  # noqa: E402


def shares(draws: int) -> Iterator[str]:
    """The exact interval at the effective size."""
    import numpy as np

    rng = np.random.default_rng(1)
    yield f"{'cases':>5} {'each':>4} {'share':>5}   {'held':>6} {'width':>5}"
    for cases, each in ((12, 1), (34, 1), (12, 3), (34, 3)):
        for share in (0.05, 0.2, 0.5):
            held, width = 0, 0.0
            for _ in range(draws):
                # Beta-distributed rates of the cases make two outputs of one case correlate by a half.
                rates = rng.beta(share, 1.0 - share, cases) if each > 1 else np.full(cases, share)
                totals = [int(total) for total in rng.binomial(each, rates)]
                interval = korn_graubard(totals, [each] * cases)
                held += interval.low <= share <= interval.high
                width += interval.width
            yield f"{cases:>5} {each:>4} {share:>5}   {held / draws:>6.1%} {width / draws:>5.2f}"


def items(rng: random.Random, *, labelled: int, rate: float, quality: float, each: int) -> list[PpiItem]:
    """500 outputs without a label, some with one: 60% good, of which ``rate`` are flagged; of the bad ones 70% are."""
    made = []
    goods = [rng.random() < 0.6 for _ in range((500 + labelled) // each + 1)]
    known = set(rng.sample(range(500 + labelled), labelled))
    for number in range(500 + labelled):
        is_good = goods[number // each]
        guess = quality * (0.8 * is_good + 0.1) + (1.0 - quality) * rng.random()
        flagged = rng.random() < (rate if is_good else 0.7)
        made.append(PpiItem(float(flagged), guess, str(number // each), is_good if number in known else None))
    return made


def few_labels(draws: int) -> Iterator[str]:
    """The false failure rate over all outputs, by few labels and many outputs without one."""
    yield f"{'labels':>6} {'FFR':>5} {'predictor':>9} {'each':>4}   {'held':>6} {'width':>5}   {'labels alone':>12}"
    rng = random.Random(3)
    for labelled in (15, 25, 50, 100):
        for rate in (0.03, 0.1, 0.25, 0.5):
            for quality, each in ((0.0, 1), (0.5, 1), (0.95, 1), (0.5, 3)):
                held, width, alone, used = 0, 0.0, 0.0, 0
                for _ in range(draws):
                    drawn = items(rng, labelled=labelled, rate=rate, quality=quality, each=each)
                    good = [item for item in drawn if item.is_kind]
                    if len(good) < 2:
                        continue
                    interval = ppi_conditional(drawn).interval
                    used += 1
                    held += interval.low <= rate <= interval.high
                    width += interval.width
                    alone += korn_graubard([int(item.flagged) for item in good], [1] * len(good)).width
                yield (
                    f"{labelled:>6} {rate:>5} {quality:>9} {each:>4}   {held / used:>6.1%} {width / used:>5.2f}   "
                    f"{alone / used:>12.2f}"
                )


def alignments(draws: int) -> Iterator[str]:
    """Alignment, the harmonic mean of coverage and 1 - FFR: MOVER on the reciprocals."""
    yield f"{'bad':>4} {'good':>4} {'each':>4} {'coverage':>8} {'FFR':>4} {'alignment':>9}   {'held':>6} {'width':>5}"
    rng = random.Random(5)
    for bad, good, each in ((5, 10, 1), (8, 22, 1), (20, 40, 1), (9, 21, 3), (21, 39, 3)):
        for coverage, ffr in ((0.5, 0.05), (0.9, 0.1), (0.3, 0.02), (0.73, 0.39)):
            truth = 2.0 * coverage * (1.0 - ffr) / (coverage + 1.0 - ffr)
            held, width = 0, 0.0
            for _ in range(draws):
                caught = _clustered(rng, coverage, bad // each, each)
                kept = _clustered(rng, 1.0 - ffr, good // each, each)
                mean = harmonic_mean(*(korn_graubard(ones, [each] * len(ones)) for ones in (caught, kept)))
                held += mean.low <= truth <= mean.high
                width += mean.width
            shown = f"{coverage:>8} {ffr:>4} {truth:>9.2f}   {held / draws:>6.1%} {width / draws:>5.2f}"
            yield f"{bad:>4} {good:>4} {each:>4} {shown}"


def _clustered(rng: random.Random, share: float, cases: int, each: int) -> list[int]:
    """The ones of each case; those of a case correlate by a half where there are several."""
    rates = [rng.betavariate(share, 1.0 - share) if each > 1 else share for _ in range(cases)]
    return [sum(rng.random() < rate for _ in range(each)) for rate in rates]


def figures_held_out(draws: int) -> Iterator[str]:
    """Figures held out, and the true ones of the chosen set: 40 unrelated candidates, limits of 60% and 25% (aligned:
    five criteria, 20% each). Plain: intervals that take outputs held out for as many others."""
    yield (
        f"{'method':<8}{'outputs':>8}{'chosen':>7}   {'share':<9}{'fitted':>7}{'true':>6}{'held out':>9}   "
        f"{'held':>6} {'width':>5}   {'plain':>6} {'width':>5}"
    )
    for method in ("sub", "cov", "aligned"):
        for outputs in (24, 40, 60):
            yield from _method_held_out(method, outputs, draws)


def _method_held_out(method: str, outputs: int, draws: int) -> Iterator[str]:
    import numpy as np

    rng = np.random.default_rng(4)
    sizes: list[int] = []
    figures: tuple[list[list[float]], ...] = ([], [])
    for _ in range(draws):
        rates = (rng.beta(1, 6, 40), rng.beta(1, 20, 40))
        bad = np.less(rng.uniform(size=outputs), 0.3)
        failed = np.less(rng.uniform(size=(outputs, 40)), np.where(bad[:, None], *rates))
        made = _chosen(method, bad.tolist(), failed.tolist()) if 3 <= bad.sum() <= outputs - 5 else None
        if made is None:
            continue
        chosen, held_out = made
        sizes.append(len(chosen))
        flagged = failed[:, chosen].any(axis=1)
        for row, rate, kind, interval in zip(figures, rates, (bad, ~bad), held_out, strict=True):
            true = 1.0 - float(np.prod(1.0 - rate[chosen]))
            row.append([float(np.mean(flagged, where=kind)), true, *_held(true, interval)])
    for name, row in zip(("coverage", "FFR"), figures, strict=True):
        fitted, true, share, held, width, plain, narrow = np.mean(row, axis=0)
        shown = f"{name:<9}{fitted:>7.0%}{true:>6.0%}{share:>9.0%}   {held:>6.1%} {width:>5.2f}"
        yield f"{method:<8}{outputs:>8}{np.mean(sizes):>7.1f}   {shown}   {plain:>6.1%} {narrow:>5.2f}"


def _chosen(
    method: str, bad: list[bool], failed: list[list[bool]]
) -> tuple[list[int], tuple[CardFigure | Interval, CardFigure | Interval]] | None:
    """A set, and its coverage and FFR held out; None where nothing is chosen, or nothing can be held out."""
    columns = [sum(1 << row for row, one in enumerate(column) if one) for column in zip(*failed, strict=True)]
    kinds = sum(1 << row for row, one in enumerate(bad) if one)
    good = (1 << len(bad)) - 1 ^ kinds
    if method == "aligned":
        wanted = [Wanted(str(number)) for number in range(5)]
        contenders = [Contender(str(place), (str(place % 5),), one, (place,)) for place, one in enumerate(columns)]
        graded, clusters = GradedOutputs(kinds, good), [str(row) for row in range(len(bad))]
        whole = cross_fitted_choice(wanted, contenders, graded, clusters).get(WHOLE_SET)
        names = chosen_by(wanted, contenders, graded)[WHOLE_SET]
        return ([int(name) for name in names], (whole.figures.coverage, whole.figures.ffr)) if whole else None
    problem = SelectionProblem(len(bad), good, tuple(columns))
    made = choose_from_matrix(problem, method, seconds=10)  # type: ignore[arg-type]
    shares = made.held_out.shares if made.held_out else None
    if not made.chosen or shares is None or shares.coverage is None or shares.ffr is None:
        return None
    return list(made.chosen), (shares.coverage, shares.ffr)


def _held(true: float, interval: CardFigure | Interval) -> tuple[float, ...]:
    """The share, whether its interval holds the true one and how wide it is, and the same of the plain interval."""
    share = interval.estimate or 0.0
    ones = round(share * interval.n)
    narrow = korn_graubard([1] * ones + [0] * (interval.n - ones), [1] * interval.n)
    width = interval.high - interval.low
    return share, interval.low <= true <= interval.high, width, narrow.low <= true <= narrow.high, narrow.width


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=400, help="samples per line of a table [400]")
    draws = parser.parse_args().draws
    for table in (shares, few_labels, alignments, figures_held_out):
        print((table.__doc__ or "").strip())
        for line in table(draws):
            print(line)
        print()


if __name__ == "__main__":
    main()
