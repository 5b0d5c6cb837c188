"""The random sample: uniform whatever policies choose in between, whoever grades, and where items join."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from promptpex.core.records import Example, Grade, output_key
from promptpex.grading.book import WHOLE
from promptpex.grading.desk import GradingDesk
from promptpex.grading.next_item import Draw, GradingProgress, Opinion, Surroundings, draw_next
from promptpex.grading.random_sample import (
    in_order,
    next_turn,
    number,
    policy_after,
    random_sample,
    reached_by,
)
from promptpex.stats.special import normal_quantile

KEYS = tuple(f"{index:08x}" for index in range(8))


_ANY = Grade.of(inputs={}, output="", grader="ada", time="2026-03-01T09:30:00+00:00", case="c", model="m", value="good")


def _grade(key: str, policy: str) -> Grade:
    return _ANY.model_copy(update={"key": key, "policy": policy})


class _Grading:
    """A file of grades in memory, as several programs would fill it."""

    def __init__(self, seed: int, pool: Iterable[str]) -> None:
        self.seed, self.pool = seed, list(pool)
        self.grades: list[Grade] = []

    def choose(self, policy: str, around: Surroundings, *in_hand: Draw) -> Draw:
        graded = frozenset(grade.key for grade in self.grades)
        held = {choice.item: choice.policy for choice in in_hand}
        stand = GradingProgress(in_order(self.pool, self.seed), graded, reached_by(self.grades, held), held)
        return draw_next(stand, around, policy, share=0.5, seed=self.seed)

    def give(self, choice: Draw) -> None:
        self.grades.append(_grade(choice.item, choice.policy))

    def sample(self) -> tuple[str, ...]:
        graded = {grade.key for grade in self.grades}
        return random_sample(self.pool, graded, reached_by(self.grades), self.seed)


def _one_after_the_other(seed: int) -> _Grading:
    """A policy that always wants the same items first; five are graded."""
    grading = _Grading(seed, KEYS)
    for step in range(5):
        grading.give(grading.choose("highest", _wanting_the_first(step)))
    return grading


def _wanting_the_first(step: int) -> Surroundings:
    return Surroundings({key: 1.0 / (1 + index) for index, key in enumerate(KEYS)}, step)


def _two_at_once(seed: int) -> _Grading:
    """Two people: each has an item in hand while the other one is given the next; one goes for other items."""
    grading = _Grading(seed, KEYS)
    first = grading.choose("highest", _wanting_the_first(0))
    for step in range(1, 5):
        second = grading.choose("highest", _wanting_the_first(step), first)
        grading.give(first)
        first = second
    grading.give(first)
    return grading


def _picked_by_hand(seed: int) -> _Grading:
    """Somebody grades what catches the eye, without any policy, before and between."""
    grading = _Grading(seed, KEYS)
    for step, eye_catching in enumerate((KEYS[0], KEYS[1], KEYS[2])):
        if eye_catching not in {grade.key for grade in grading.grades}:
            grading.grades.append(_grade(eye_catching, ""))
        grading.give(grading.choose("highest", _wanting_the_first(step)))
    return grading


def _chi_square_limit(cells: int) -> float:
    """What chi-square exceeds once in ten thousand times (Wilson and Hilferty 1931)."""
    df = cells - 1
    return df * (1.0 - 2.0 / (9.0 * df) + normal_quantile(0.9999) * math.sqrt(2.0 / (9.0 * df))) ** 3


WAYS = (_one_after_the_other, _two_at_once, _picked_by_hand)


def _unevenness(samples: Iterable[tuple[str, ...]], size: int) -> float:
    """How uneven the samples of a size are spread over all subsets of that size: chi-square over its limit."""
    seen = Counter(tuple(sorted(sample)) for sample in samples if len(sample) == size)
    subsets = list(itertools.combinations(KEYS, size))
    mean = seen.total() / len(subsets)
    assert mean > 6
    return sum((seen[subset] - mean) ** 2 / mean for subset in subsets) / _chi_square_limit(len(subsets))


@pytest.mark.parametrize("way", WAYS)
def test_every_subset_is_as_likely_to_be_the_sample(way: Callable[[int], _Grading]) -> None:
    """The longest beginning that is graded would not do: what the policy chose is in it too often."""
    samples, beginnings = [], []
    for seed in range(3_000):
        grading = way(seed)
        samples.append(grading.sample())
        graded = frozenset(grade.key for grade in grading.grades)
        beginnings.append(tuple(itertools.takewhile(graded.__contains__, in_order(KEYS, seed))))
    assert max(_unevenness(samples, size) for size in (1, 2, 3)) < 1
    assert _unevenness(beginnings, 3) > 1.3


def test_items_that_join_come_into_the_sample_as_often_as_the_others() -> None:
    counts: Counter[bool] = Counter()
    late = tuple(f"{index:08x}" for index in range(40, 80))
    for seed in range(100):
        grading = _Grading(seed, (f"{index:08x}" for index in range(40)))
        for step in range(20):
            grading.give(grading.choose("random", Surroundings(step=step)))
        grading.pool += late
        for step in range(20, 45):
            grading.give(grading.choose("random", Surroundings(step=step)))
        counts.update(key in late for key in grading.sample())
    assert counts[True] / counts.total() == pytest.approx(0.5, abs=0.03)


def test_a_sample_ends_before_an_item_that_joined_and_is_not_graded() -> None:
    order = in_order(KEYS)
    old = [key for key in KEYS if key != order[1]]
    graded = {order[0], order[2], order[3]}
    assert random_sample(old, graded, graded) == (order[0], order[2], order[3])
    assert random_sample(KEYS, graded, graded) == (order[0],)
    assert next_turn(order, graded, graded).item == order[1]


def test_a_whole_pool_that_is_graded_is_its_own_sample_however_it_was_chosen() -> None:
    assert set(random_sample(KEYS, set(KEYS), frozenset())) == set(KEYS)


def test_a_turn_is_used_up_by_an_item_that_is_graded_already() -> None:
    order = in_order(KEYS)
    turn = next_turn(order, {order[0]}, frozenset())
    assert (turn.item, turn.used_by) == ("", order[0])
    name = policy_after("highest", order[0])
    assert reached_by([_grade(order[5], name), _grade(order[6], "highest"), _grade(order[7], "random")]) == {
        order[0],
        order[7],
    }


def test_what_somebody_has_in_hand_is_left_to_them() -> None:
    order = in_order(KEYS)
    assert next_turn(order, set(), {order[0]}, {order[0]}).item == order[1]
    assert next_turn(order, set(), set(), {order[0]}).used_by == order[0]


def test_numbers_are_permanent_even_and_depend_on_the_seed() -> None:
    assert number("75a36571e7c498bf") == number("75a36571e7c498bf") != number("75a36571e7c498bf", 1)
    numbers = [number(str(index)) for index in range(2_000)]
    assert all(0 <= value < 1 for value in numbers)
    assert sum(numbers) / 2_000 == pytest.approx(0.5, abs=0.03)


def test_what_the_sample_has_reached_and_waits_for_a_grade_comes_first_whatever_the_policy() -> None:
    """As after an undo, for a reworded rule, or where another rule is asked about than before."""
    order = in_order(KEYS)
    reached = set(order[:5])
    for step in range(20):
        draw = draw_next(GradingProgress(order, {order[0], order[2]}, reached), _wanting_the_first(step), "highest")
        assert (draw.item, draw.policy, draw.probability) == (order[1], "random", 1)
        draw = draw_next(GradingProgress(order, {order[0], order[2]}, reached, {order[1]}), _wanting_the_first(step))
        assert draw.item == order[3]


def test_a_desk_knows_of_items_in_hand_by_which_policy_they_were_chosen(tmp_path: Path) -> None:
    """What a policy gave to somebody uses up a turn of the sample; what a turn gave to somebody has been reached."""
    items = [Example(id=output_key({}, text), output=text) for text in "abcd"]
    opinions = {
        items[0].id: (Opinion("f", "r1", "check", "", "fail"),),
        items[1].id: (Opinion("f", "r1", "check", "", "pass"),),
    }
    seen = set()
    for seed in range(60):
        path = tmp_path / "p.grades.jsonl"
        desk = GradingDesk(items, [WHOLE], path, seed=seed, opinions=opinions, policy="highest")
        first, second = desk.next("ada"), desk.next("bo")
        assert first is not None
        assert second is not None
        order = in_order((item.id for item in items), seed)
        if first.policy == "random" == second.policy:
            assert (first.item.id, second.item.id) == order[:2]
        elif first.policy == "highest" and first.item.id == order[0] and second.policy != "highest":
            assert second.policy == policy_after("highest", order[0])
        seen.add((first.policy, " after " in second.policy))
    assert seen == {("random", False), ("highest", False), ("highest", True)}
