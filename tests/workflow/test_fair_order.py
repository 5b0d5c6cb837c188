"""The order of asking: wherever it is cut off, every target has come equally far."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Case
from promptpex.workflow.execution.order import fair_order

Target = tuple[str | None, bool]
TARGETS: list[Target] = [(None, False), ("r1", False), ("r1", True), ("r2", False), ("r2", True), ("r3", False)]
SIZES = st.lists(st.integers(0, 40), min_size=len(TARGETS), max_size=len(TARGETS))


def made(sizes: list[int]) -> list[Case]:
    """So many cases of each target, target by target."""
    pairs = [target for target, size in zip(TARGETS, sizes, strict=True) for _ in range(size)]
    return [Case(id=f"c{n}", rule=rule, inverse=side, inputs={}) for n, (rule, side) in enumerate(pairs)]


def target(case: Case) -> Target:
    return case.rule, case.inverse


@given(SIZES, st.integers())
def test_a_beginning_holds_one_share_of_each_target_within_a_case(sizes: list[int], seed: int) -> None:
    """There is one share t of the way so that each target of m cases has m * t of them, less than one more or fewer."""
    cases = made(sizes)
    total, seen = Counter(map(target, cases)), Counter[Target]()
    for case in fair_order(cases, seed):
        seen[target(case)] += 1
        least = max((seen[one] - 1) / size for one, size in total.items())
        most = min((seen[one] + 1) / size for one, size in total.items())
        assert least < most, seen


@given(st.integers(1, 30), st.integers())
def test_aims_of_one_size_are_never_more_than_a_case_apart(size: int, seed: int) -> None:
    seen = Counter(dict.fromkeys(TARGETS, 0))
    for case in fair_order(made([size] * len(TARGETS)), seed):
        seen[target(case)] += 1
        assert max(seen.values()) - min(seen.values()) <= 1


@given(SIZES, st.integers())
def test_it_holds_every_case_once_and_the_seed_alone_decides(sizes: list[int], seed: int) -> None:
    cases = made(sizes)
    order = fair_order(cases, seed)
    assert sorted(order, key=lambda case: int(case.id[1:])) == cases
    assert order == fair_order(cases, seed)


def test_another_seed_is_another_order_and_every_case_may_come_first() -> None:
    cases = made([2, 6, 2, 1, 0, 1])
    first = Counter(fair_order(cases, seed)[0].id for seed in range(1200))
    assert set(first) == {case.id for case in cases}
    halves = Counter(case.id for seed in range(1200) for case in fair_order(cases, seed)[:6])
    assert all(520 <= halves[case.id] <= 680 for case in cases), halves


def test_a_case_without_a_rule_is_of_one_aim_whatever_its_side() -> None:
    cases = [Case(id=f"c{n}", inverse=n % 2 == 0, inputs={}) for n in range(8)]
    sides = {tuple(case.inverse for case in fair_order(cases, seed)[:2]) for seed in range(40)}
    assert (True, True) in sides  # two targets would take turns
