"""How often graders are right, from what they say of the same things (Dawid and Skene 1979, one figure each)."""

from __future__ import annotations

import math
from random import Random

import pytest

from promptpex.stats.dawid_skene import (
    LEAST_ACCURACY,
    MOST_ACCURACY,
    UNKNOWN_ACCURACY,
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
            errors[name] += (estimates[name] - share) / 20
    assert all(abs(error) < 0.03 for error in errors.values()), errors


def test_who_is_right_less_often_than_a_coin_weighs_nothing() -> None:
    estimates = one_coin(simulated({"ada": 0.95, "bob": 0.95, "liar": 0.2}, 200, 0.6, 1))
    assert estimates["liar"] == LEAST_ACCURACY
    assert logit(estimates["liar"]) == 0.0
    assert estimates["ada"] > 0.85


def test_a_figure_of_few_grades_stays_near_that_of_nobody_in_particular() -> None:
    once = one_coin([{"ada": True, "bob": True}])
    assert abs(once["ada"] - UNKNOWN_ACCURACY) < 0.06
    always = one_coin([dict.fromkeys(("ada", "bob", "cleo"), bool(number % 2)) for number in range(5_000)])
    assert set(always.values()) == {MOST_ACCURACY}
    assert math.isfinite(logit(MOST_ACCURACY))


def test_what_nobody_or_one_alone_has_graded_tells_nothing() -> None:
    assert one_coin([]) == one_coin([{}, {"ada": True}]) == {}
    shared = simulated({"ada": 0.9, "bob": 0.8, "cleo": 0.7}, 50, 0.7, 2)
    assert one_coin(shared) == one_coin([*shared, *({"cleo": False} for _ in range(500))])


def test_the_answer_does_not_hang_on_the_order() -> None:
    things = simulated({"ada": 0.9, "bob": 0.8, "cleo": 0.7}, 60, 0.7, 3)
    assert one_coin(things) == pytest.approx(one_coin(things[::-1]))
