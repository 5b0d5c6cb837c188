"""Small runs drawn at random: models of all sorts, repeats, weights, outputs lost in every way."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptpex.core.records import Case, Run
from tests.numbers.world import Fate, cases, simulated, table

NAMES = "abcde"
LOST: tuple[Fate, ...] = ("open", "cut", "unasked", "unjudged", "unjudged broken", "judged broken")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A run and what it was made of.

    Attributes:
        run: the run.
        cases: its cases.
        fates: of every output, by model, case number and repeat.
        repeats: times each case is asked.
        weights: as the run's settings have them.
    """

    run: Run
    cases: tuple[Case, ...]
    fates: Mapping[tuple[str, int, int], Fate]
    repeats: int
    weights: Mapping[str, int]

    @property
    def models(self) -> list[str]:
        """The models' names without ``fake/``."""
        return list(dict.fromkeys(model for model, _, _ in self.fates))

    def of(self, model: str, case: int) -> list[Fate]:
        """The fates of a model's repeats of a case."""
        return [self.fates[model, case, repeat] for repeat in range(self.repeats)]

    def weight(self, case: Case) -> int:
        """How many times a case counts; once where it aims at nothing."""
        if case.rule is None:
            return 1
        return self.weights.get("inverse" if case.inverse else "rule", 1) * self.weights.get(case.rule, 1)


def draw(seed: int, *, most_cases: int = 80, most_models: int = 5, lost: float = 0.5, weighed: bool = True) -> Drawn:
    """A run by its seed."""
    rng = random.Random(seed)
    names = NAMES[: rng.randint(1, most_models)]
    count, repeats, aims = rng.randint(1, most_cases), rng.choice([1, 1, 2, 3]), rng.choice([1, 2, 5, 16])
    made = cases(count, aims, inverses=rng.random() < 0.4, baseline=rng.random() < 0.1)
    judge = rng.random() < 0.6
    chances = {name: _chances(rng, judge, lost) for name in names}
    fates = {
        (name, case, repeat): rng.choices(list(chances[name]), list(chances[name].values()))[0]
        for name in names
        for case in range(count)
        for repeat in range(repeats)
    }
    settings = _settings(rng, made, weighed)
    run = simulated(list(names), made, table(fates), aims=aims, judge=judge, repeats=repeats, **settings)
    return Drawn(run, made, fates, repeats, settings.get("weights", {}))


def _chances(rng: random.Random, judge: bool, lost: float) -> dict[Fate, float]:
    """How likely each fate is for one model; some give nothing, or nothing but failures."""
    kind = rng.random()
    if kind < 0.05:
        return {"unasked": 1.0}
    if kind < 0.1:
        return {"cut": 1.0}
    if kind < 0.15 and judge:
        return {"open": 0.9, "broken": 0.1}
    broken = rng.choice([0.0, 0.02, 0.1, 0.3, 0.5, 1.0])
    chances: dict[Fate, float] = {"kept": 1.001 - broken, "broken": broken}
    if rng.random() < lost:
        chances |= {fate: rng.choice([0.0, 0.0, 0.05, 0.3]) for fate in LOST if judge or fate in ("cut", "unasked")}
    return chances


def _settings(rng: random.Random, made: tuple[Case, ...], weighed: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {"tolerance": rng.choice([0.05, 0.05, 0.1, 0.3])}
    ways: list[dict[str, int]] = [{"rule": 3}, {"rule": 3, "inverse": 1}, {"inverse": 2}]
    if made[0].rule:
        ways.append({made[0].rule: 5})
    if weighed and rng.random() < 0.3:
        settings["weights"] = rng.choice(ways)
    return settings
