"""Whether a choice gets better where each grade weighs inversely to the probability with which it was put up.

Outputs that a policy chose are more often contested than others, so coverage and FFR among them are not those of all
outputs. The weights are those of Farquhar, Gal and Rainforth (2021, arXiv 2101.11665), with which a mean over outputs
drawn one by one without replacement is unbiased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from alignment_bench.summaries import differences, summary
from alignment_bench.trials import WAYS, Progress, Way, evalgen, known, measured, progress_of
from alignment_bench.worlds import World
from promptpex.alignment.choose import FFR_LIMIT, Contender, CriterionEvidence

MOST = (1.0, 2.0, 5.0, 20.0)
"""The greatest weight of a grade, and its inverse the least; at 1 all weigh the same."""

Makers = Sequence[Callable[[int], World]]


def weights_of(progress: Progress, pool: int, most: float) -> dict[int, float]:
    """The weight of each graded output, in the order in which they were graded."""
    count = len(progress.probabilities)
    weights = {}
    for number, (output, chance) in enumerate(progress.probabilities.items(), 1):
        left = pool - number
        weight = 1.0 + (pool - count) / left * (1.0 / ((left + 1) * chance) - 1.0) if left else 1.0
        weights[output] = min(most, max(1.0 / most, weight))
    return weights


def weighted_choice(world: World, progress: Progress, most: float, *, named: bool) -> frozenset[str]:
    """EvalGen's choice by weighted coverage, FFR and alignment."""
    graded = known(world, progress.says_bad, named=named)
    if most == 1.0:
        return evalgen(world, graded)
    weights = weights_of(progress, len(world.pool), most)
    chosen = []
    for name in world.broken:
        contenders = [one for one in world.contenders if name in one.criteria]
        chosen += _best(contenders, graded.evidence(name), weights)
    return frozenset(chosen)


def _best(contenders: Sequence[Contender], evidence: CriterionEvidence, weights: Mapping[int, float]) -> list[str]:
    bads, goods = _sum(evidence.to_catch, weights), _sum(evidence.good, weights)
    if not bads or not goods:
        return []
    rated = []
    for one in contenders:
        coverage, ffr = (
            _sum(one.fails & evidence.to_catch, weights) / bads,
            _sum(one.fails & evidence.good, weights) / goods,
        )
        if coverage and ffr <= float(FFR_LIMIT) + 1e-12:
            rated.append((-2 * coverage * (1 - ffr) / (coverage + 1 - ffr), one.order, one.id))
    return [min(rated)[2]] if rated else []


def _sum(outputs: int, weights: Mapping[int, float]) -> float:
    return sum(weight for output, weight in weights.items() if outputs >> output & 1)


def weighting_table(makers: Makers, seeds: Sequence[int], stops: Sequence[int], *, named: bool) -> Iterator[str]:
    """Markdown: by way and greatest weight the alignment held out, and the difference from grades of one weight."""
    yield (
        "| outputs are chosen | greatest weight | " + " | ".join(f"{stop} grades | against 1" for stop in stops) + " |"
    )
    yield "|---|---|" + "---|---|" * len(stops)
    worlds = [[make(seed) for seed in seeds] for make in makers]
    for way in WAYS:
        if not way.share:
            continue
        made = [
            [_trials(world, way, stops, seed, named) for seed, world in zip(seeds, each, strict=True)]
            for each in worlds
        ]
        by_place = [
            [[[one[which][place] for one in kind] for kind in made] for place in range(len(stops))]
            for which in range(len(MOST))
        ]
        for most, places in zip(MOST, by_place, strict=True):
            cells = []
            for kinds, alike in zip(places, by_place[0], strict=True):
                cells += [summary(kinds).text(), summary(differences(kinds, alike)).signed() if most > 1 else ""]
            yield f"| {way.name} | {most:g} | {' | '.join(cells)} |"


def _trials(world: World, way: Way, stops: Sequence[int], seed: int, named: bool) -> list[list[float]]:
    """By greatest weight and number of grades, the alignment of the choice on the test outputs."""
    results: list[list[float]] = [[] for _ in MOST]
    for progress in progress_of(world, way, seed):
        if len(progress.says_bad) in stops:
            for place, most in enumerate(MOST):
                chosen = weighted_choice(world, progress, most, named=named)
                results[place].append(measured(world, chosen, world.test).alignment)
        if len(progress.says_bad) == max(stops):
            break
    return results
