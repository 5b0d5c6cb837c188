"""A share corrected by few grades: simulated with a biased judge, and held to what the grades alone give."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from promptpex.core.errors import InputError
from promptpex.stats import JudgedOutputs, corrected_difference, corrected_share
from tests.e2e.command import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from simulate_correction import Setting, drawn, simulated, without_verdicts, worth

NONE = -1


def columns(verdicts: list[int], grades: list[int], *, repeats: int = 1, weight: float = 1.0) -> JudgedOutputs:
    cases = np.arange(len(verdicts)) // repeats
    return JudgedOutputs(cases, np.full(len(verdicts), weight), np.array(verdicts), np.array(grades))


@pytest.mark.parametrize(
    ("repeats", "rates", "judge"),
    [
        (1, (0.05,), (0.8, 0.9)),
        (3, (0.05,), (0.5, 1.0)),
        (1, (0.2,), (0.5, 0.5)),
        (3, (0.5,), (0.95, 0.6)),
        (2, (0.95,), (0.7, 0.7)),
        (2, (0.2, 0.05), (0.8, 0.9)),
        (3, (0.95, 0.8), (0.95, 0.6)),
    ],
)
def test_thirty_grades_correct_a_biased_judge(
    repeats: int, rates: tuple[float, ...], judge: tuple[float, float]
) -> None:
    counts = simulated(Setting(60, repeats, 30, rates, judge), 200, 3)
    assert counts.samples == 200
    assert counts.share >= 0.93


def test_a_good_judge_saves_grading_and_a_useless_one_costs_nothing() -> None:
    good = simulated(Setting(200, 1, 100, (0.3,), (0.95, 0.95)), 30, 1)
    useless = simulated(Setting(200, 1, 100, (0.3,), (0.5, 0.5)), 30, 1)
    assert good.width < 0.85 * good.alone
    assert useless.width < 1.04 * useless.alone


def test_what_grades_are_worth_with_a_judge_is_not_overstated() -> None:
    true, reported = worth(Setting(200, 1, 100, (0.3,), (0.9, 0.9)), 150, 3)
    assert 110 < reported < 1.2 * true


def test_the_estimate_is_what_the_groups_hold() -> None:
    outputs = columns([1] * 40 + [0] * 60, [1, 1, 1, 0] + [NONE] * 36 + [0] * 9 + [1] + [NONE] * 50)
    made = corrected_share(outputs)
    assert made.interval.estimate == pytest.approx(0.4 * 0.75 + 0.6 * 0.1)
    assert (made.graded, made.outputs) == (14, 100)
    assert made.power == pytest.approx(0.65)
    assert made.alone > 14
    assert made.interval.method == "prediction-powered"


def test_where_everything_is_graded_the_grades_are_the_answer() -> None:
    grades = [1, 0, 0, 1, 0, 0, 0, 0, 0, 0] * 3
    made = corrected_share(columns([1, 1, 0, 0, 0] * 6, grades))
    assert made.interval.estimate == pytest.approx(0.2)


def test_verdicts_that_say_the_opposite_and_groups_without_grades_leave_the_grades_alone() -> None:
    against = corrected_share(columns([1] * 10 + [0] * 10, [0] * 5 + [NONE] * 5 + [1] * 5 + [NONE] * 5))
    assert against.interval.estimate == pytest.approx(0.5)
    assert (against.power, against.alone) == (0.0, 10.0)
    unseen = corrected_share(columns([0] * 40 + [1] * 10, [0] * 20 + [1] * 2 + [NONE] * 28))
    seen = corrected_share(columns([0] * 50, [0] * 20 + [1] * 2 + [NONE] * 28))
    assert (unseen.power, unseen.interval.method) == (0.0, "grades")
    assert unseen.interval.estimate == pytest.approx(2 / 22)
    assert unseen.interval.width > 1.2 * seen.interval.width


def test_outputs_without_a_verdict_are_a_group_of_their_own() -> None:
    verdicts = [1] * 10 + [0] * 10 + [NONE] * 20
    grades = [1] * 5 + [NONE] * 5 + [0] * 5 + [NONE] * 5 + [1, 0, 0, 0] + [NONE] * 16
    assert corrected_share(columns(verdicts, grades)).interval.estimate == pytest.approx(0.25 + 0.5 * 0.25)


def test_weights_count_and_their_scale_does_not() -> None:
    generator = np.random.default_rng(4)
    (outputs,) = drawn(generator, Setting(60, 2, 40, (0.3,), (0.8, 0.8)))
    twice = JudgedOutputs(outputs.cases, 2 * outputs.weights, outputs.verdicts, outputs.grades)
    assert corrected_share(twice).interval.high == pytest.approx(corrected_share(outputs).interval.high)
    heavy = JudgedOutputs(outputs.cases, 1.0 + outputs.grades.clip(0), outputs.verdicts, outputs.grades)
    assert (corrected_share(heavy).interval.estimate or 0) > (corrected_share(outputs).interval.estimate or 0)


def test_grades_of_one_case_count_for_less() -> None:
    verdicts, grades = [1, 0] * 30, [1, 0] * 15 + [NONE] * 30
    one = corrected_share(columns(verdicts, grades)).interval
    alike = [value for value in verdicts for _ in range(2)], [value for value in grades for _ in range(2)]
    assert corrected_share(columns(*alike, repeats=2)).interval.width == pytest.approx(one.width, rel=0.15)
    assert corrected_share(columns(*alike)).interval.width < 0.9 * one.width


def test_a_difference_of_the_same_verdicts_is_surer_than_that_of_unlike_ones() -> None:
    generator = np.random.default_rng(2)
    (same,) = drawn(generator, Setting(200, 1, 100, (0.3,), (1.0, 1.0)))
    (other,) = drawn(generator, Setting(200, 1, 100, (0.3,), (1.0, 1.0)))
    assert corrected_difference(same, same).estimate == 0.0
    assert corrected_difference(same, same).width < corrected_difference(same, other).width
    plain = corrected_difference(without_verdicts(same), without_verdicts(other))
    assert plain.method == "grades"
    assert plain.width > corrected_difference(same, other).width


@pytest.mark.parametrize(
    ("outputs", "sentence"),
    [
        (columns([1, 0, 0], [1, NONE, NONE]), "1 graded outputs are too few"),
        (columns([], []), "0 graded outputs are too few"),
        (JudgedOutputs(np.arange(3), np.ones(2), np.zeros(3, int), np.zeros(3, int)), "3 cases but 2 weights"),
    ],
)
def test_what_cannot_be_estimated_is_refused(outputs: JudgedOutputs, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        corrected_share(outputs)
