"""The exact programs against every set of candidates there is."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from promptpex.synthesis.selection.methods import Method, select
from promptpex.synthesis.selection.problem import SelectionLimits
from promptpex.synthesis.selection.program import COV, LEAST_FFR, MOST_COVERAGE, SUB, Task, reduced
from promptpex.synthesis.selection.search import Sizes, optimise, smallest
from tests.synthesis.selection import oracle

SEEDS = 400


@pytest.mark.parametrize("method", ["cov", "sub"])
def test_no_set_of_candidates_is_better_than_the_one_that_is_chosen(method: str) -> None:
    states = Counter[str]()
    for seed in range(SEEDS):
        problem, limits = oracle.random_problem(seed)
        selection = select(problem, "cov" if method == "cov" else "sub", limits)
        states[selection.state] += 1
        if selection.state.startswith("no-"):
            assert selection.chosen is None
            continue
        expected = oracle.best(problem, method, limits)
        assert (selection.chosen is None) == (expected is None), seed
        assert selection.state == ("ok" if expected else "infeasible"), seed
        if selection.chosen is not None:
            chosen = frozenset(selection.chosen)
            assert list(selection.chosen) == sorted(chosen)
            assert problem.must <= chosen
            assert not problem.must_not & chosen
            assert oracle.keeps(problem, chosen, limits)
            assert selection.within_limits
            assert oracle.key_of(problem, chosen, method) == expected, seed
            assert (selection.optimal, selection.gap) == (True, 0.0)
            assert expected is not None
            assert selection.objective == selection.bound == expected[0]
    assert min(states.values()) > 5
    assert set(states) == {"ok", "infeasible", "no-examples", "no-good-examples", "no-bad-examples"}


SIZES = {
    "goal by goal": Sizes(packed=1),
    "without small sets": Sizes(work=0),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_all_ways_to_search_lead_to_the_same_optima(sizes: Sizes) -> None:
    for seed in range(120):
        problem, limits = oracle.random_problem(seed)
        for goals in (COV, SUB, MOST_COVERAGE, LEAST_FFR):
            task = Task(problem, goals, limits.least_caught(problem), limits.most_flagged(problem))
            usual, other = optimise(task, 60), optimise(task, 60, sizes=sizes)
            assert [step.value for step in usual.steps] == [step.value for step in other.steps], (seed, goals)
            assert (usual.feasible, usual.proven) == (other.feasible, other.proven)


def test_why_nothing_keeps_the_limits_names_the_nearest_selections_and_the_examples_in_the_way() -> None:
    explained = 0
    for seed in range(SEEDS):
        problem, limits = oracle.random_problem(seed)
        selection = select(problem, "cov", limits)
        if selection.state != "infeasible":
            continue
        why = selection.explanation
        assert why is not None
        explained += 1
        bad = problem.examples - problem.good.bit_count()
        caught = [
            count
            for count in range(bad + 1)
            if oracle.best(problem, "cov", SelectionLimits(Fraction(count, bad), limits.ffr)) is not None
        ]
        assert (why.best_coverage.count if why.best_coverage else None) == max(caught, default=None)
        good = problem.good.bit_count()
        flagged = [
            count
            for count in range(good + 1)
            if oracle.best(problem, "cov", SelectionLimits(limits.coverage, Fraction(count, good))) is not None
        ]
        assert (why.least_ffr.count if why.least_ffr else None) == min(flagged, default=None)
        allowed = [fails for j, fails in enumerate(problem.fails) if j not in problem.must_not]
        nothing_catches = [i for i in range(problem.examples) if not any(fails >> i & 1 for fails in allowed)]
        assert list(why.uncaught) == [i for i in nothing_catches if not problem.good >> i & 1]
        assert set(why.uncaught) <= set(why.bad_to_check)
    assert explained > 30


@pytest.mark.parametrize("method", ["cov", "sub"])
def test_the_time_limit_ends_a_search_and_says_what_is_not_proven(method: Method) -> None:
    problem = oracle.problem_of_many_small_columns(seed=3, candidates=60, examples=80)
    limits = SelectionLimits(Fraction(1, 2), Fraction(1, 2))
    stopped = select(problem, method, limits, seconds=0.0)
    assert stopped.chosen is not None
    assert stopped.within_limits
    assert not stopped.optimal
    finished = select(problem, method, limits)
    assert finished.optimal
    assert finished.objective is not None
    assert stopped.objective is not None
    assert stopped.bound is not None
    assert stopped.bound <= finished.objective <= stopped.objective
    assert stopped.gap == float((stopped.objective - stopped.bound) / stopped.objective) > 0


def test_small_sets_that_were_not_all_tried_still_give_a_selection_and_the_sizes_that_they_exclude() -> None:
    given_up = 0
    for seed in range(20):
        problem = oracle.problem_of_many_small_columns(seed, candidates=30, examples=60)
        task = Task(problem, COV, 15, 20)
        reduction = reduced(task)
        whole = smallest(task, reduction, float("inf"), lambda: False)
        assert whole.finished
        for work in (100, 1_000, 10_000):
            part = smallest(task, reduction, work, lambda: False)
            given_up += not part.finished
            assert part.excluded <= whole.excluded
            if part.selection is not None:
                score, best = task.score(part.selection), task.score(whole.selection or ())
                assert score is not None
                assert best is not None
                assert score[0] == best[0] == part.excluded + 1
                assert score >= best
    assert given_up > 10
