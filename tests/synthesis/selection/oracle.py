"""Selections by trying every set of candidates, and small random problems: what the exact program is held to."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import chain, combinations
from math import ceil, floor

from promptpex.synthesis.selection.problem import SelectionLimits, SelectionProblem

Key = tuple[Fraction | int, ...]


def key_of(problem: SelectionProblem, chosen: frozenset[int], method: str) -> Key:
    """What the method makes as small as possible, counted example by example."""
    flagged = [i for i in range(problem.examples) if any(problem.fails[j] >> i & 1 for j in chosen)]
    alarms = sum(problem.good >> i & 1 for i in flagged)
    missed = problem.examples - problem.good.bit_count() - (len(flagged) - alarms)
    weight = sum((problem.weights[j] if problem.weights else Fraction(1) for j in chosen), Fraction())
    implied = {b for a, b in problem.implications if a in chosen}
    left_out = len(set(range(problem.candidates)) - chosen - implied)
    return (weight, missed, alarms) if method == "cov" else (weight + left_out, left_out, missed, alarms)


def keeps(problem: SelectionProblem, chosen: frozenset[int], limits: SelectionLimits) -> bool:
    """Whether both limits are kept."""
    good = [i for i in range(problem.examples) if problem.good >> i & 1]
    bad = [i for i in range(problem.examples) if not problem.good >> i & 1]
    flagged = {i for i in range(problem.examples) if any(problem.fails[j] >> i & 1 for j in chosen)}
    return len(flagged & set(bad)) >= ceil(limits.coverage * len(bad)) and len(flagged & set(good)) <= floor(
        limits.ffr * len(good)
    )


def best(problem: SelectionProblem, method: str, limits: SelectionLimits) -> Key | None:
    """The least key of all sets that keep the limits and people's choices; None where there is none."""
    free = [j for j in range(problem.candidates) if j not in problem.must and j not in problem.must_not]
    subsets = chain.from_iterable(combinations(free, size) for size in range(len(free) + 1))
    sets = (problem.must | frozenset(subset) for subset in subsets)
    return min((key_of(problem, chosen, method) for chosen in sets if keeps(problem, chosen, limits)), default=None)


def random_problem(seed: int) -> tuple[SelectionProblem, SelectionLimits]:
    """A small problem; by its seed with equal columns, cycles, weights, people's choices, one label, or nothing."""
    dice = random.Random(seed)
    candidates = dice.choice([0, 1, 2, 4, 6, 8, 9])
    examples = dice.choice([0, 1, 3, 6, 10, 14])
    density = dice.choice([0.05, 0.2, 0.5, 0.9])
    columns = [[dice.random() < density for _ in range(examples)] for _ in range(candidates)]
    for number in range(1, candidates):
        if dice.random() < 0.2:
            columns[number] = columns[dice.randrange(number)]
    share_good = dice.choice([0.0, 0.3, 0.5, 0.7, 1.0])
    labels = "".join(str(int(dice.random() < share_good)) for _ in range(examples))
    rows = ["".join("0" if column[i] else "1" for column in columns) for i in range(examples)]
    pairs = [(a, b) for a in range(candidates) for b in range(candidates) if dice.random() < dice.choice([0, 0.2])]
    weights = [Fraction(dice.choice(["0", "0.1", "0.3", "1", "2.25", "7"])) for _ in range(candidates)]
    choices = [dice.choice(["must", "never", "", "", "", "", "", ""]) for _ in range(candidates)]
    chosen = [j for j, choice in enumerate(choices) if choice == "must"] if dice.random() < 0.3 else []
    refused = [j for j, choice in enumerate(choices) if choice == "never"] if dice.random() < 0.3 else []
    problem = SelectionProblem.from_rows(
        labels,
        rows,
        candidates,
        pairs,
        weights=weights if dice.random() < 0.3 else (),
        must=chosen,
        must_not=refused,
    )
    share = [Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(6, 10), Fraction(1)]
    return problem, SelectionLimits(dice.choice(share), dice.choice(share))


def problem_of_many_small_columns(seed: int, candidates: int, examples: int) -> SelectionProblem:
    """Half good and half bad outputs, of which each candidate fails a few: a choice that takes many of them."""
    dice = random.Random(seed)
    fails = tuple(sum(1 << i for i in dice.sample(range(examples), 4)) for _ in range(candidates))
    pairs = tuple((dice.randrange(candidates), dice.randrange(candidates)) for _ in range(candidates))
    return SelectionProblem(examples, (1 << examples // 2) - 1, fails, pairs)
