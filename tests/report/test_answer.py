"""The paragraph on top: what it says of which figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptpex.records import Run
from promptpex.report import summarise
from tests.tables.many import many

Passes = Callable[[int], bool | None]


def told(made: Run, **question: Any) -> str:
    answer = summarise(made, **question).answer
    assert answer is not None
    return answer


def priced(made: Run, prices: dict[str, tuple[float | None, float]]) -> Run:
    outputs = [one.but(cost_usd=prices[one.model][0], latency_ms=prices[one.model][1]) for one in made.outputs]
    return made.but(outputs=tuple(outputs))


def test_noise_is_called_undecided_and_says_what_would_decide() -> None:
    text = told(many(30, {"a": lambda n: n % 6 > 0, "b": lambda n: n % 15 not in (1, 2, 3, 4)}))
    assert text.startswith("Undecided are a (17 %, interval 7–34 %) and b (27 %, interval 14–44 %)")
    assert "these data do not tell which model is best" in text
    assert "more cases would probably decide" in text
    assert "certain" not in text


def test_the_best_and_the_worse_are_named() -> None:
    text = told(many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0}))
    assert text == (
        "a is the best for certain: it broke a rule in 0 of 60 scored outputs (0 %, interval 0–6 %). "
        "Certainly worse is b (50 %, interval 38–62 %, than a)."
    )


def test_the_tied_are_named_with_the_cheapest_and_the_fastest() -> None:
    made = many(300, {"a": lambda n: n > 2, "b": lambda n: n > 3, "c": lambda n: n % 2 == 0})
    text = told(priced(made, {"a": (0.02, 100.0), "b": (0.01, 300.0), "c": (0.001, 1.0)}))
    assert "are tied: each is shown to be less than 5 percentage points worse than the best" in text
    assert "Of those that are good enough, the cheapest is b ($0.01 an output) and the fastest is a (0.10 s" in text
    assert "Certainly worse is c" in text


def test_a_choice_among_the_undecided_comes_with_its_caveat() -> None:
    made = many(30, {"a": lambda n: n % 6 > 0, "b": lambda n: n % 15 not in (1, 2, 3, 4)})
    text = told(priced(made, {"a": (0.02, 100.0), "b": (None, 300.0)}))
    assert "Of those that are not ruled out, the cheapest is a" in text
    assert "any of them may still prove to be the worse one" in text
    assert "The price of b is not known." in text


def test_against_a_named_model() -> None:
    made = many(100, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "c": lambda n: n % 2 == 0 or n < 2})
    text = told(made, against="b", tolerance=0.1)
    assert text.startswith("Against b (50 %, interval 40–60 %): certainly better: a (0 %, interval 0–4 %);")
    assert "shown to be less than 10 percentage points worse: c" in text


def test_few_and_unscored_outputs_are_said_to_be_so() -> None:
    text = told(many(10, {"a": lambda n: None if n < 4 else n > 4, "dead": lambda n: None}))
    assert text == (
        "a broke at least one rule in 1 of 6 scored outputs (17 %, interval 3–56 %). "
        "Few outputs were scored of a (6): read those shares as hints. Nothing was scored of dead. "
        "The unscored outputs leave a's non-compliance between 10 % and 50 %."
    )


@pytest.mark.parametrize("passes", [{}, {"a": lambda n: None}], ids=["no model", "nothing scored"])
def test_nothing_scored_is_no_answer(passes: dict[str, Passes]) -> None:
    assert told(many(3, passes)) == "Nothing was scored, so nothing can be said of any model."


def test_the_settings_of_the_run_are_the_question() -> None:
    made = many(100, {"a": lambda n: n > 2, "b": lambda n: n > 5}, settings={"tolerance": 0.2, "confidence": 0.9})
    summary = summarise(made)
    assert (summary.standing.tolerance, summary.confidence) == (0.2, 0.9)
    assert summary.models["place"].tolist() == ["tied", "tied"]
    assert summarise(made, tolerance=0.01).models["place"].tolist() == ["tied", "undecided"]
