"""Forecasts: what more grades would bring, held to the exact interval."""

from __future__ import annotations

from typing import Literal

import pytest

from promptpex.core.records import Example, Grade, output_key
from promptpex.grading.book import GradeBook
from promptpex.grading.forecast import STEPS, forecast, forecasts, half_width, more_needed
from promptpex.grading.machine_opinions import MachineViews
from promptpex.grading.opinions import Opinion
from promptpex.grading.random_sample import number
from promptpex.grading.subjects import WHOLE, Subject
from promptpex.stats import clopper_pearson


@pytest.mark.parametrize(("errors", "n"), [(0, 0), (0, 5), (1, 7), (5, 10), (30, 30), (3, 40)])
@pytest.mark.parametrize("within", [0.2, 0.1, 0.05])
def test_so_many_more_make_the_interval_narrow_enough_and_one_less_does_not(errors: int, n: int, within: float) -> None:
    more = more_needed(errors, n, within)
    rate = (errors + 0.5) / (n + 1)
    if more == 0:
        assert clopper_pearson(errors, n).width / 2 <= within
    else:
        assert half_width(errors + rate * more, n + more) <= within
        before = n + more - 1
        assert before == 0 or half_width(errors + rate * (more - 1), before) > within


def test_the_sentence_is_for_the_next_step_and_counts_what_people_have_to_do() -> None:
    result = forecast("r3", 1, 20, 400)
    assert half_width(1, 20) > result.within == 0.10
    assert result.grades == 3 * result.sampled
    assert result.sentence() == f"{result.grades} more and the judge's error on r3 is known to within 10 points"
    assert forecast("r3", 1, 20, 400, share=1).grades == result.sampled


def test_where_the_outputs_run_out_the_error_on_them_is_known_exactly() -> None:
    assert (
        forecast("r3", 1, 20, 9).sentence() == "9 more and the judge's error on r3 is known exactly for these outputs"
    )


def test_what_is_known_as_well_as_is_ever_asked_is_said_without_a_number() -> None:
    result = forecast("r1", 0, 400, 1_000)
    assert result.within == STEPS[-1]
    assert result.sentence() == "the judge's error on r1 is known to within 3 points"


def _item(index: int) -> Example:
    return Example(id=output_key({"x": index}, "y"), inputs={"x": index}, output="y", case=f"c{index}", model="m")


def _judged(item: Example, status: Literal["pass", "fail"]) -> Opinion:
    return Opinion("r1 by judge", "r1", "judge", "gpt", status)


def test_the_judge_is_held_against_the_random_sample_alone() -> None:
    """Ten random grades without an error; ten that the policy chose, all errors, change nothing."""
    items = sorted(map(_item, range(40)), key=lambda item: number(item.id))
    opinions = {item.id: (_judged(item, "pass"),) for item in items}
    rule = Subject("r1", "Be brief.")
    fields = {"grader": "ada", "time": "2026-03-01T09:30:00+00:00", "case": "c", "model": "m"}

    def grade(item: Example, value: str, policy: str) -> Grade:
        words = {"subject": "r1", "subject_text": rule.text}
        return Grade.of(inputs=item.inputs, output=item.output, value=value, policy=policy, **words, **fields)

    grades = [grade(item, "good", "random") for item in items[:10]]
    grades += [grade(item, "bad", "informative") for item in items[10:20]]
    book = GradeBook.of(grades, [WHOLE, rule])
    (result,) = forecasts(book, items, MachineViews.of(opinions).judgements, [WHOLE, rule], share=1)
    assert result == forecast("r1", 0, 10, 20, judge="gpt", share=1)
    assert result.sentence() == "12 more and gpt's error on r1 is known to within 10 points"
    judgements = MachineViews.of(opinions).judgements
    (unasked,) = forecasts(book, items, judgements, [WHOLE, rule], share=1, asked=["output"])
    assert unasked.sentence() == f"{result.sentence()}, if bad outputs are also graded on r1"
