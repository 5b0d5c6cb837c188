"""How often graders are right, from what they say of the same things (Dawid and Skene 1979, one figure each)."""

from __future__ import annotations

import math
from random import Random

import pytest

from promptpex.stats.grader_accuracy import (
    LEAST_ACCURACY,
    MOST_ACCURACY,
    UNKNOWN_ACCURACY,
    GraderAccuracy,
    logit,
    one_coin,
)


def simulated(accuracy: dict[str, float], things: int, prevalence: float, seed: int) -> list[dict[str, bool]]:
    random = Random(seed)
    made = []
    for _ in range(things):
        good = random.random() < prevalence
        made.append({name: good == (random.random() < share) for name, share in accuracy.items()})
    return made


@pytest.mark.parametrize("prevalence", [0.5, 0.8])
def test_known_accuracies_are_recovered(prevalence: float) -> None:
    truth = {"ada": 0.95, "bob": 0.85, "cleo": 0.7, "dora": 0.9}
    errors = dict.fromkeys(truth, 0.0)
    for seed in range(20):
        estimates = one_coin(simulated(truth, 300, prevalence, seed))
        for name, share in truth.items():
            errors[name] += (estimates.accuracy[name] - share) / 20
        assert abs(estimates.prevalence - prevalence) < 0.12
    assert all(abs(error) < 0.03 for error in errors.values()), errors


def test_who_is_right_less_often_than_a_coin_weighs_nothing() -> None:
    estimates = one_coin(simulated({"ada": 0.95, "bob": 0.95, "liar": 0.2}, 200, 0.6, 1))
    assert estimates.accuracy["liar"] == LEAST_ACCURACY
    assert logit(estimates.accuracy["liar"]) == 0.0
    assert estimates.accuracy["ada"] > 0.85


def test_a_figure_of_few_grades_stays_near_that_of_nobody_in_particular() -> None:
    once = one_coin([{"ada": True}])
    assert abs(once.accuracy["ada"] - UNKNOWN_ACCURACY) < 0.06
    always = one_coin([dict.fromkeys(("ada", "bob", "cleo"), bool(number % 2)) for number in range(5_000)])
    assert set(always.accuracy.values()) == {MOST_ACCURACY}
    assert math.isfinite(logit(MOST_ACCURACY))


def test_nothing_and_things_without_a_grade() -> None:
    assert one_coin([]) == GraderAccuracy({}, (), 0.5)
    empty = one_coin([{}, {}])
    assert (empty.accuracy, empty.prevalence) == ({}, 0.5)
    assert empty.good == (0.5, 0.5)


def test_the_answer_does_not_hang_on_the_order() -> None:
    things = simulated({"ada": 0.9, "bob": 0.8, "cleo": 0.7}, 60, 0.7, 3)
    forth, back = one_coin(things), one_coin(things[::-1])
    assert forth.accuracy == pytest.approx(back.accuracy)
    assert forth.good == pytest.approx(back.good[::-1])
