"""The order in which cases are asked: wherever it is cut off, what was asked is a fair sample of the suite."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from promptpex.core.records import Case


def fair_order(cases: Sequence[Case], seed: int) -> list[Case]:
    """The cases in an order that the seed decides, each of whose beginnings has the same share of every aim.

    An aim is a rule or an inverse; the cases without a rule are one aim more. Inside an aim the order is random. The
    j-th of its m cases stands at (j + u) / m of the way, with one random u for each aim, so that at any point of the
    way every aim is, to within one case, equally far: systematic sampling within strata (Cochran 1977, Sampling
    Techniques, section 8).
    """
    aims: dict[tuple[str | None, bool], list[Case]] = defaultdict(list)
    for case in cases:
        aims[case.rule, case.rule is not None and case.inverse].append(case)
    rng = random.Random(seed)
    placed: list[tuple[float, int, Case]] = []
    for number, aim in enumerate(aims.values()):
        start = rng.random()
        rng.shuffle(aim)
        placed += [((place + start) / len(aim), number, case) for place, case in enumerate(aim)]
    return [case for _, _, case in sorted(placed, key=lambda one: one[:2])]
