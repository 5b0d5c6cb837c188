"""Grids by hand and by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from promptpex.stats import Grid

Counts = tuple[int, int, int]
"""Repeats of a case that broke a rule, that kept all, and that are open."""


def grid(failures: Sequence[Sequence[int] | Any], *, repeats: int = 1, open: Sequence[Sequence[int]] = ()) -> Grid:
    """A model ``a``, ``b``, ... per row: how many of ``repeats`` outputs of each case break a rule.

    ``open`` are the outputs without a verdict.
    """
    broken = np.array(failures, dtype=np.int64)
    waiting = np.array(open, dtype=np.int64) if len(open) else np.zeros_like(broken)
    cases = broken.shape[1]
    names = tuple("abcdefghijklmnop"[: len(broken)])
    return Grid(names, broken, repeats - broken - waiting, waiting, np.ones(cases, dtype=np.int64))


def grid_of(counts: Mapping[str, Mapping[str, Counts]], weights: Mapping[str, int] | None = None) -> Grid:
    """Models whose cases are known by their ids; a case that is missing was not asked of that model.

    ``weights`` are 1 where nothing is said.
    """
    cases = list(dict.fromkeys(case for of_model in counts.values() for case in of_model))
    table = np.zeros((3, len(counts), len(cases)), dtype=np.int64)
    for row, of_model in enumerate(counts.values()):
        for case, of_case in of_model.items():
            table[:, row, cases.index(case)] = of_case
    broken, kept, waiting = table
    weight = np.array([(weights or {}).get(case, 1) for case in cases], dtype=np.int64)
    return Grid(tuple(counts), broken, kept, waiting, weight)


def drawn(
    rng: Any,
    rates: Sequence[float],
    cases: int,
    *,
    repeats: int = 1,
    alike: float = 0.5,
) -> Grid:
    """Models that break a rule at ``rates``; ``alike`` correlates repeats."""
    failures = []
    for rate in rates:
        chance = np.full(cases, np.clip(rate, 1e-9, 1 - 1e-9))
        if repeats > 1 and alike:
            chance = rng.beta(chance * (1 - alike) / alike, (1 - chance) * (1 - alike) / alike)
        failures.append(rng.binomial(repeats, chance))
    return grid(failures, repeats=repeats)
