"""How often the intervals of corrected non-compliance hold the truth, and how wide they are.

A judge with known errors, right or wrong by itself or on a whole case at once, says of every output whether it breaks a
rule; people grade some at random. For true rates of .05 to .95, judges from useless to perfect, one to three repeats of
a case that are more or less alike, and for the difference of two models on the same cases.

    python scripts/simulate_correction.py [--samples 1000] [--seed 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from sys import path as search_path

import numpy as np

search_path.insert(0, str(Path(__file__).parents[1]))

from promptpex.stats.corrected_share import NOTHING, JudgedOutputs, corrected_difference, corrected_share

RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
JUDGES = ((0.5, 0.5), (0.7, 0.7), (0.95, 0.6), (0.5, 1.0), (0.8, 0.9), (1.0, 1.0))
"""Sensitivity and specificity: useless, poor, too strict, too mild, good, perfect."""
GRADES = (10, 20, 30, 100)
CASES = (60, 200)
ALIKE = {1: 0.0, 2: 0.3, 3: 0.8}
"""By repeats, how alike the outputs of a case are, and how often the judge errs on all of them at once."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is simulated: ``rates`` of one model, or of two to be compared."""

    cases: int
    repeats: int
    grades: int
    rates: tuple[float, ...]
    judge: tuple[float, float]


@dataclass(slots=True)
class Held:
    """Of so many samples, the intervals that hold the truth, and their widths beside those of grades alone."""

    samples: int = 0
    held: int = 0
    width: float = 0.0
    alone: float = 0.0

    @property
    def share(self) -> float:
        """The coverage."""
        return self.held / max(1, self.samples)


def drawn(generator: np.random.Generator, setting: Setting) -> list[JudgedOutputs]:
    """The outputs of each model on the same cases, of which ``grades`` per model on average have a grade."""
    shape = (setting.cases, setting.repeats)
    size, alike = setting.cases * setting.repeats, ALIKE[setting.repeats]
    hard = generator.random((setting.cases, 1))
    chosen = np.zeros(size * len(setting.rates), dtype=bool)
    chosen[generator.permutation(len(chosen))[: setting.grades * len(setting.rates)]] = True
    cases = np.repeat(np.arange(setting.cases), setting.repeats)
    models = []
    for rate, known in zip(setting.rates, chosen.reshape(len(setting.rates), size), strict=True):
        own = np.where(generator.random(shape) < alike, hard, generator.random(shape))
        broken = (own < rate).astype(np.int64)
        luck = np.where(generator.random(shape) < alike, generator.random((setting.cases, 1)), generator.random(shape))
        failed = np.where(broken == 1, luck < setting.judge[0], luck >= setting.judge[1]).astype(np.int64)
        grades = np.where(known, broken.ravel(), NOTHING)
        models.append(JudgedOutputs(cases, np.ones(size), failed.ravel(), grades))
    return models


def simulated(setting: Setting, samples: int, seed: int) -> Held:
    """The coverage of ``samples`` samples; those in which a model has fewer than two grades are left out."""
    generator, counts = np.random.default_rng(seed), Held()
    truth = setting.rates[0] - (setting.rates[1] if len(setting.rates) > 1 else 0.0)
    for _ in range(samples):
        models = drawn(generator, setting)
        if min(model.graded for model in models) < 2:
            continue
        low, high = _ends(models)
        plain = _ends([without_verdicts(model) for model in models])
        counts.samples += 1
        counts.held += low <= truth <= high
        counts.width += (high - low) / samples
        counts.alone += (plain[1] - plain[0]) / samples
    return counts


def without_verdicts(outputs: JudgedOutputs) -> JudgedOutputs:
    """The same grades without a judge."""
    return JudgedOutputs(outputs.cases, outputs.weights, np.full_like(outputs.verdicts, NOTHING), outputs.grades)


def _ends(models: list[JudgedOutputs]) -> tuple[float, float]:
    interval = corrected_difference(*models) if len(models) > 1 else corrected_share(models[0]).interval
    return interval.low, interval.high


def settings(models: int) -> Iterator[Setting]:
    """All settings for one model, or for the difference of two."""
    pairs: list[tuple[float, ...]] = [(0.05, 0.05), (0.2, 0.05), (0.5, 0.3), (0.95, 0.8)]
    for rates in [(rate,) for rate in RATES] if models == 1 else pairs:
        for judge, cases, repeats, grades in product(JUDGES, CASES, ALIKE, GRADES):
            if grades <= cases * repeats:
                yield Setting(cases, repeats, grades, rates, judge)


def table(models: int, samples: int, seed: int) -> Iterator[str]:
    """The lines of a Markdown table: by grades and judge, the least coverage of all settings, and the mean widths."""
    yield "| grades | judge: sensitivity, specificity | least coverage | mean coverage | mean width | grades alone |"
    yield "|--:|---|--:|--:|--:|--:|"
    by_setting: dict[tuple[int, tuple[float, float]], list[Held]] = {}
    for number, setting in enumerate(settings(models)):
        by_setting.setdefault((setting.grades, setting.judge), []).append(simulated(setting, samples, seed + number))
    for (grades, judge), counts in sorted(by_setting.items()):
        shares, size = [one.share for one in counts], len(counts)
        widths = f"{sum(one.width for one in counts) / size:.2f} | {sum(one.alone for one in counts) / size:.2f}"
        least = f"{min(shares):.1%} | {sum(shares) / size:.1%}"
        yield f"| {grades} | {judge[0]:g}, {judge[1]:g} | {least} | {widths} |"


def worth(setting: Setting, samples: int, seed: int) -> tuple[float, float]:
    """How many grades alone would have the variance of the corrected estimate, and what the median report says."""
    generator = np.random.default_rng(seed)
    pairs = [(each, without_verdicts(each)) for _ in range(samples) for each in drawn(generator, setting)]
    made = [(corrected_share(one), corrected_share(other)) for one, other in pairs if one.graded > 1]
    corrected, alone = (np.array([each[place].interval.estimate for each in made]) for place in (0, 1))
    true = setting.grades * float(alone.var() / corrected.var())
    return true, float(np.median([one.alone for one, _ in made]))


def worths(samples: int, seed: int) -> Iterator[str]:
    """The lines of a Markdown table of what grades are worth with a judge."""
    yield "| grades | cases | rate | judge: sensitivity, specificity | worth | reported |"
    yield "|--:|--:|--:|---|--:|--:|"
    for rate, judge, grades in product((0.05, 0.3), JUDGES, (40, 100)):
        true, reported = worth(Setting(200, 1, grades, (rate,), judge), samples, seed)
        yield f"| {grades} | 200 | {rate:g} | {judge[0]:g}, {judge[1]:g} | {true:.0f} | {reported:.0f} |"


def main() -> None:
    """Prints the tables of shares, of differences, and of what grades are worth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for models, title in ((1, "Non-compliance"), (2, "Differences of two models")):
        print(f"\n{title}\n", flush=True)
        for line in table(models, given.samples, given.seed):
            print(line, flush=True)
    print("\nWhat grades are worth with a judge\n", flush=True)
    for line in worths(given.samples, given.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
