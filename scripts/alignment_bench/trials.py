"""Trials: a simulated person grades by a policy, assertions are chosen by the grades, and the choice is measured."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from alignment_bench.worlds import World, as_bits
from promptpex.alignment.choose import FFR_LIMIT, GradedOutputs, Wanted, choose, chosen_of
from promptpex.alignment.cross_fit import union
from promptpex.grading.machine_opinions import MachineViews
from promptpex.grading.next_item import GradingProgress, draw_next
from promptpex.grading.opinions import Opinion
from promptpex.grading.policies import Surroundings
from promptpex.grading.random_sample import RANDOM, RANDOM_SHARE, in_order, random_sample, reached_key


@dataclass(frozen=True, slots=True)
class Way:
    """A way to grade.

    Attributes:
        policy: what chooses the outputs, and share: how often it is the random sample's turn.
    """

    name: str
    policy: str
    share: float = 0.0


WAYS = (
    Way("random", RANDOM),
    Way("alternating, as in the paper", "alternating"),
    Way("highest, as in the paper", "highest"),
    Way("lowest, as in the paper", "lowest"),
    Way("alternating, a third random", "alternating", RANDOM_SHARE),
    Way("informative, nothing random", "informative"),
    Way("informative, a third random", "informative", RANDOM_SHARE),
)
"""The last one is the default of ``promptpex grade``."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What a set of assertions amounts to on outputs; coverage and ffr are None where there are none of the kind."""

    size: int
    coverage: float | None
    ffr: float | None

    @property
    def alignment(self) -> float:
        """The harmonic mean of coverage and 1 - FFR; 0 for a set that catches nothing, the empty one too."""
        if not self.coverage or self.ffr is None or self.ffr == 1.0:
            return 0.0
        return 2.0 * self.coverage * (1.0 - self.ffr) / (self.coverage + 1.0 - self.ffr)


def measured(world: World, chosen: Iterable[str], outputs: int) -> Shares:
    """A set's shares on these outputs by the truth."""
    return shares_on(world, frozenset(chosen), world.bad & outputs, outputs & ~world.bad)


def shares_on(world: World, chosen: frozenset[str], bad: int, good: int) -> Shares:
    """A set's shares on outputs that are bad and good, as bits."""
    flagged = union(one.fails for one in world.contenders if one.id in chosen)
    return Shares(len(chosen), _share(flagged, bad), _share(flagged, good))


def _share(flagged: int, of: int) -> float | None:
    return (flagged & of).bit_count() / of.bit_count() if of else None


def trial(world: World, way: Way, stops: Sequence[int], seed: int, *, named: bool) -> list[float]:
    """The alignment on the test outputs of what is chosen after so many grades.

    Args:
        named: whether a person who calls an output bad also grades what it breaks.
    """
    results = []
    for count, graded in enumerate(grading(world, way, seed, named=named), 1):
        if count in stops:
            results.append(measured(world, evalgen(world, graded), world.test).alignment)
        if count == max(stops):
            break
    return results


def grading(world: World, way: Way, seed: int, *, named: bool) -> Iterator[GradedOutputs]:
    """What is known after each grade."""
    for progress in progress_of(world, way, seed):
        yield known(world, progress.says_bad, named=named)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a person has come.

    Attributes:
        says_bad: what was said of the outputs that are graded.
        sample: those of them that are the random sample.
        probabilities: with which each was chosen, in order.
    """

    says_bad: dict[int, bool]
    sample: tuple[int, ...]
    probabilities: dict[int, float]


def after(world: World, way: Way, count: int, seed: int) -> Progress:
    """How far a person has come after so many grades."""
    return next(one for one in progress_of(world, way, seed) if len(one.says_bad) == count)


def progress_of(world: World, way: Way, seed: int) -> Iterator[Progress]:
    """How far a person has come after each grade."""
    rng = random.Random(seed)
    says_bad = {output: bool(world.bad >> output & 1) != (rng.random() < world.error) for output in world.pool}
    keys = {f"{output:08x}": output for output in world.pool}
    views = MachineViews.of({key: _opinions(world, output) for key, output in keys.items()})
    order, graded = in_order(keys, seed), dict[str, bool]()
    reached: set[str] = set()
    chances: dict[int, float] = {}
    while len(graded) < len(keys):
        bad = sum(graded.values())
        around = Surroundings(views, len(graded), good=len(graded) - bad, bad=bad)
        draw = draw_next(GradingProgress(order, graded, reached), around, way.policy, share=way.share, seed=seed)
        graded[draw.item] = says_bad[keys[draw.item]]
        chances[keys[draw.item]] = draw.probability
        reached |= {reached_key(draw.item, draw.policy)} - {""}
        sample = random_sample(keys, graded, reached, seed)
        verdicts = {keys[key]: is_bad for key, is_bad in graded.items()}
        yield Progress(verdicts, tuple(keys[key] for key in sample), dict(chances))


def known(world: World, says_bad: dict[int, bool], *, named: bool) -> GradedOutputs:
    """What the grades say; of a bad output also which criterion it breaks, if that is named and it breaks one."""
    top = max(says_bad) + 1
    bad = as_bits(says_bad.get(output, False) for output in range(top))
    good = as_bits(not says_bad.get(output, True) for output in range(top))
    own = {name: (broken & bad, bad & ~broken) for name, broken in world.broken.items()} if named else {}
    return GradedOutputs(bad, good, own)


def _opinions(world: World, output: int) -> tuple[Opinion, ...]:
    return tuple(
        Opinion(one.id, one.criteria[0], "candidate", status="fail" if one.fails >> output & 1 else "pass")
        for one in world.contenders
    )


def random_labels(world: World, count: int, seed: int) -> GradedOutputs:
    """So many outputs of the pool, at random, graded as a whole."""
    rng = random.Random(seed)
    picked = rng.sample(world.pool, min(count, len(world.pool)))
    return known(
        world, {one: bool(world.bad >> one & 1) != (rng.random() < world.error) for one in picked}, named=False
    )


def evalgen(world: World, graded: GradedOutputs, limit: Fraction = FFR_LIMIT) -> frozenset[str]:
    """EvalGen's choice: for each criterion the best aligned candidate within the limit."""
    return chosen_of(choose([Wanted(name, limit) for name in world.broken], world.contenders, graded))
