"""Worlds whose truth is known: outputs, what each breaks, and candidates that see some of it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from promptpex.alignment.choose import Contender
from promptpex.alignment.cross_fit import union


@dataclass(frozen=True)
class World:
    """Outputs with candidates.

    Attributes:
        pool: numbers of the outputs that can be graded; test: of those that a choice is measured on.
        broken: per criterion the outputs that break it, as bits.
        contenders: what may be chosen.
        error: how often a grader says the opposite of the truth.
    """

    name: str
    pool: tuple[int, ...]
    test: int
    broken: dict[str, int]
    contenders: tuple[Contender, ...]
    error: float = 0.0

    @property
    def bad(self) -> int:
        """The outputs that break something, as bits."""
        return union(self.broken.values())


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of simulated world.

    Attributes:
        rates: how often each criterion is broken.
        error: of graders.
        candidates: per criterion.
    """

    name: str
    rates: tuple[float, ...]
    error: float
    candidates: int = 6


KINDS = (
    Kind("frequent failures", (0.2, 0.12, 0.08), 0.05),
    Kind("rare failures", (0.05, 0.04, 0.03), 0.05),
    Kind("careless graders", (0.2, 0.12, 0.08), 0.15),
)
POOL, TEST = 100, 500


def simulated(kind: Kind, seed: int) -> World:
    """A world of a kind, drawn anew for each seed.

    An output is hard to a degree from 0 to 1, and candidates err on it accordingly, so that they err together. Half of
    the candidates flag up to 5% of what is good for their criterion, half up to 40%; they catch 20% to 95% of the rest.
    """
    rng = random.Random(f"{kind.name} {seed}")
    outputs = range(POOL + TEST)
    hardness = [rng.random() for _ in outputs]
    broken, contenders = {}, []
    for number, rate in enumerate(kind.rates):
        criterion = f"c{number + 1}"
        broken[criterion] = as_bits(rng.random() < rate for _ in outputs)
        for index in range(kind.candidates):
            catches, flags = rng.uniform(0.2, 0.95), rng.uniform(0.0, 0.05) if index % 2 else rng.uniform(0.05, 0.4)
            fails = as_bits(
                rng.random() < (1 - 2 * (1 - catches) * hard if broken[criterion] >> output & 1 else 2 * flags * hard)
                for output, hard in enumerate(hardness)
            )
            contenders.append(Contender(f"{criterion}-{index}", (criterion,), fails, (index,)))
    test = as_bits(output >= POOL for output in outputs)
    return World(kind.name, tuple(outputs[:POOL]), test, broken, tuple(contenders), kind.error)


def as_bits(flags: Iterable[object]) -> int:
    """The numbers of the true ones, as bits."""
    return sum(1 << number for number, flag in enumerate(flags) if flag)


def split(
    name: str, outputs: Sequence[str], broken: dict[str, int], contenders: Sequence[Contender], seed: int
) -> World:
    """A world of recorded outputs: half of them, at random but the outputs of a case together, can be graded.

    Args:
        outputs: the case of each.
    """
    rng = random.Random(f"{name} {seed}")
    cases = sorted(set(outputs))
    rng.shuffle(cases)
    first = set(cases[: len(cases) // 2])
    pool = tuple(number for number, case in enumerate(outputs) if case in first)
    return World(name, pool, as_bits(case not in first for case in outputs), broken, tuple(contenders))
