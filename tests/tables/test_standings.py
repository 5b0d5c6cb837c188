from __future__ import annotations

import pytest

from promptpex.errors import InputError
from promptpex.records import Run
from promptpex.stats import PairedCounts, mcnemar, tango_difference
from promptpex.tables import Question, models, outputs, standings
from tests.tables.many import many


def places(made: Run, question: Question | None = None) -> dict[str, str]:
    rows = outputs(made)
    found = standings(rows, list(made.manifest.models), question or Question())
    table = models(rows, order=list(found.models), standing=found)
    assert table["place"].tolist() == [one.place for one in found.models.values()]
    return dict(zip(table["model"], table["place"], strict=True))


def test_noise_makes_no_best() -> None:
    """70 % against 60 % of ten cases: the larger share is not called the best."""
    made = many(10, {"a": lambda n: n < 7, "b": lambda n: n < 6})
    assert places(made) == {"a": "undecided", "b": "undecided"}


def test_the_best_is_one_that_every_other_is_certainly_worse_than() -> None:
    made = many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "c": lambda n: n % 3 == 0})
    assert places(made) == {"a": "best", "b": "worse", "c": "worse"}
    row = models(outputs(made)).set_index("model").loc["b"]
    counts = PairedCounts(30, 0, 30, 0)
    apart = tango_difference(counts)
    assert (row["versus"], row["beaten_by"]) == ("a", "a")
    assert row["difference"] == pytest.approx(0.5)
    assert (row["difference_low"], row["difference_high"]) == (pytest.approx(-apart.high), pytest.approx(-apart.low))
    assert row["p"] == pytest.approx(max(mcnemar(counts), 3 * mcnemar(counts)), rel=1)


def test_models_alike_on_many_cases_are_tied_and_one_far_off_is_worse() -> None:
    made = many(300, {"a": lambda n: n > 2, "b": lambda n: n > 3, "c": lambda n: n % 2 == 0})
    assert places(made) == {"a": "tied", "b": "tied", "c": "worse"}


def test_a_wider_tolerance_ties_sooner() -> None:
    made = many(100, {"a": lambda n: n > 2, "b": lambda n: n > 5})
    assert places(made)["b"] == "undecided"
    assert places(made, Question(tolerance=0.2))["b"] == "tied"


def test_a_named_model_is_the_reference() -> None:
    made = many(100, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "c": lambda n: n % 2 == 0 or n < 2})
    assert places(made, Question(against="b", tolerance=0.1)) == {"a": "better", "b": "reference", "c": "tied"}
    with pytest.raises(InputError, match="no model 'z'"):
        places(made, Question(against="z"))


def test_undecided_models_are_told_how_many_more_cases_would_decide() -> None:
    table = models(outputs(many(20, {"a": lambda n: n < 18, "b": lambda n: n < 15})))
    assert (table["more_cases"] > 0).all()


def test_one_model_alone_and_one_that_was_never_scored() -> None:
    assert places(many(5, {"a": lambda n: True})) == {"a": "alone"}
    assert places(many(5, {"a": lambda n: True, "dead": lambda n: None})) == {"a": "alone", "dead": "unscored"}
    assert places(many(5, {"dead": lambda n: None})) == {"dead": "unscored"}


def test_repeats_of_a_case_are_one_value() -> None:
    """Three repeats of ten cases are ten pairs, not thirty: four that differ do not make ``b`` worse, twelve would.

    That ``a`` is at most a little worse than ``b`` they do show.
    """
    made = many(10, {"a": lambda n: True, "b": lambda n: n < 6}, repeats=3)
    assert places(made) == {"a": "tied", "b": "undecided"}
    assert mcnemar(PairedCounts(18, 12, 0, 0)) < 0.001


def test_a_run_that_stopped_early_is_placed_by_what_holds_at_every_look() -> None:
    made = many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0}, asked=lambda model, n: n < 40)
    question = Question(stopping=True)
    assert places(made, question) == {"a": "best", "b": "worse"}
    rows = outputs(made)
    table = models(rows, standing=standings(rows, ["a", "b"], question))
    assert table["interval"].tolist() == ["anytime", "anytime"]
    assert models(rows)["ci_high"].iloc[0] < table["ci_high"].iloc[0]
    with pytest.raises(InputError, match="stopped"):
        standings(rows, ["a", "b"], Question(stopping=True, against="a"))


def test_a_limit_places_each_model_beside_it() -> None:
    made = many(200, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "c": lambda n: n % 9 > 0, "d": lambda n: None})
    found = places(made, Question(stopping=True, limit=0.1))
    assert found == {"a": "below limit", "b": "above limit", "c": "undecided", "d": "unscored"}


def test_the_cheapest_and_the_fastest_are_sought_among_the_good_enough() -> None:
    made = many(300, {"a": lambda n: n > 2, "b": lambda n: n > 3, "c": lambda n: n % 2 == 0})
    price = {"a": (0.02, 100.0), "b": (0.01, 300.0), "c": (0.001, 1.0)}
    priced = [one.but(cost_usd=price[one.model][0], latency_ms=price[one.model][1]) for one in made.outputs]
    table = models(outputs(made.but(outputs=tuple(priced)))).set_index("model")
    assert table["cheapest"].fillna(False).tolist() == [False, True, False]
    assert table["fastest"].fillna(False).tolist() == [True, False, False]
    assert table.loc["c", ["cheapest", "fastest"]].isna().all()
    assert table.loc["b", "cost_per_output"] == pytest.approx(0.01)
