"""The paragraph on top: what it says of which figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptpex.core.records import Run
from promptpex.report import summarise
from tests.tables.many import many

Passes = Callable[[int], bool | None]


def headline(made: Run, **question: Any) -> str:
    answer = summarise(made, **question).answer
    assert answer is not None
    return answer


def priced(made: Run, prices: dict[str, tuple[float | None, float]]) -> Run:
    outputs = [one.replace(cost_usd=prices[one.model][0], latency_ms=prices[one.model][1]) for one in made.outputs]
    return made.replace(outputs=tuple(outputs))


def test_noise_is_called_undecided() -> None:
    text = headline(many(30, {"a": lambda n: n % 6 > 0, "b": lambda n: n % 15 not in (1, 2, 3, 4)}))
    assert text.startswith("Undecided: a (17%, 95% CI 5.6–35%) and b (27%, 95% CI 12–46%)")
    assert "these data do not show which model is best" in text
    assert "30 cases probably show differences of about 38 points or more; smaller ones may take more." in text


def test_the_best_and_the_worse_are_named() -> None:
    text = headline(many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0}))
    assert text == (
        "a is clearly the best: it broke a rule in 0 of 60 scored outputs (0%, 95% CI 0–6%). "
        "b is clearly worse than a: 50% (95% CI 37–63%)."
    )


def test_the_tied_are_named_with_the_cheapest_and_the_fastest() -> None:
    made = many(300, {"a": lambda n: n > 2, "b": lambda n: n > 3, "c": lambda n: n % 2 == 0})
    text = headline(priced(made, {"a": (0.02, 100.0), "b": (0.01, 300.0), "c": (0.001, 1.0)}))
    assert "are tied: each is clearly less than 5 percentage points worse than the best" in text
    assert "the cheapest is b ($0.01 per output, mean of 300)" in text
    assert "the fastest is a (median 0.10 s of 300)" in text
    assert "c is clearly worse than a" in text


def test_a_choice_among_the_undecided_comes_with_its_caveat() -> None:
    made = many(30, {"a": lambda n: n % 6 > 0, "b": lambda n: n % 15 not in (1, 2, 3, 4)})
    text = headline(priced(made, {"a": (0.02, 100.0), "b": (None, 300.0)}))
    assert "Of those that are not ruled out, the cheapest is a" in text
    assert "the ranking may still change" in text
    assert "The price of b is not known." in text


def test_against_a_named_model() -> None:
    made = many(100, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "c": lambda n: n % 2 == 0 or n < 2})
    text = headline(made, against="b", tolerance=0.1)
    assert text.startswith("Compared with b (50%, 95% CI 40–60%): clearly better: a (0%, 95% CI 0–3.6%);")
    assert "clearly less than 10 percentage points worse: c" in text


def test_several_models_with_few_outputs_are_one_sentence() -> None:
    text = headline(many(10, {"a": lambda n: n > 4, "b": lambda n: n > 4, "c": lambda n: None if n < 3 else True}))
    assert "a (10), b (10) and c (7) have fewer than 20 scored cases each; treat their shares as rough guides." in text
    assert text.count("rough guide") == 1
    gaps = headline(many(10, dict.fromkeys("abc", lambda n: None if n < 4 else n > 4)))
    assert "because 4 of 10 outputs of a, 4 of 10 outputs of b and 4 of 10 outputs of c are unscored." in gaps


def test_few_and_unscored_outputs_are_pointed_out() -> None:
    text = headline(many(10, {"a": lambda n: None if n < 4 else n > 4, "dead": lambda n: None}))
    assert text == (
        "Undecided: a (at least 10%, 95% CI 0.3–81%); these data do not show which model is best. "
        "Undecided because 4 of 10 outputs of a and 10 of 10 outputs of dead are unscored. "
        "a has only 6 scored cases; treat its share as a rough guide. No output of dead was scored. "
        "The unscored outputs leave a's non-compliance between 10% and 50%."
    )


def test_what_was_not_asked_is_named() -> None:
    made = many(
        40, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "dear": lambda n: True}, asked=lambda m, n: m != "dear"
    )
    text = headline(made)
    assert "Undecided because dear was not asked." in text
    assert "Not asked: dear." in text
    assert "best:" not in text


def failing(count: int, broken: int) -> Run:
    """One judge that gives no usable verdict on the first ``broken`` of ``count`` outputs."""
    made = many(count, {"a": lambda n: True})
    judged = [one.replace(source="judge:j") for one in made.verdicts]
    lost = [
        one.replace(status="unscored", unscored="judge-malformed", reason="no JSON")
        if int(one.case[1:]) < broken
        else one
        for one in judged
    ]
    return made.replace(verdicts=tuple(lost))


def test_a_failing_judge_comes_first() -> None:
    text = headline(failing(100, 6))
    assert text.startswith("The judge j failed on 6 of 100 outputs (6 judge-malformed): ")
    assert (
        "a broke at least one rule in none of 100 usable outputs as far as known (95% CI 0–13%), by this judge." in text
    )
    assert headline(failing(100, 5)).startswith("a broke")


@pytest.mark.parametrize("passes", [{}, {"a": lambda n: None}], ids=["no model", "nothing scored"])
def test_nothing_scored_is_no_answer(passes: dict[str, Passes]) -> None:
    assert headline(many(3, passes)) == "Nothing was scored, so no model can be assessed."


def test_the_settings_of_the_run_are_the_question() -> None:
    made = many(100, {"a": lambda n: n > 2, "b": lambda n: n > 5}, settings={"tolerance": 0.2, "confidence": 0.9})
    summary = summarise(made)
    assert (summary.rankings.options.tolerance, summary.confidence) == (0.2, 0.9)
    assert summary.models["decision"].tolist() == ["tied", "tied"]
    assert summarise(made, tolerance=0.01).models["decision"].tolist() == ["tied", "undecided"]
