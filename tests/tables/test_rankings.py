from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from promptpex.core.errors import InputError
from promptpex.core.records import Run
from promptpex.stats.tango_interval import tango_interval
from promptpex.tables import RankingOptions, models, outputs, rankings, worse_so_far
from tests.stats.oracles import mcnemar_p
from tests.tables.many import many


def places(made: Run, question: RankingOptions | None = None) -> dict[str, str]:
    rows = outputs(made)
    ranking = rankings(rows, list(made.manifest.models), question or RankingOptions())
    table = models(rows, order=list(ranking.models), ranking=ranking)
    assert table["decision"].tolist() == [one.outcome for one in ranking.models.values()]
    return dict(zip(table["model"], table["decision"], strict=True))


def test_noise_makes_no_best() -> None:
    """70% against 60% of ten cases: the larger share is not called the best."""
    made = many(10, {"a": lambda n: n < 7, "b": lambda n: n < 6})
    assert places(made) == {"a": "undecided", "b": "undecided"}


def test_the_best_is_one_that_every_other_is_shown_to_be_worse_than() -> None:
    made = many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "c": lambda n: n % 3 == 0})
    assert places(made) == {"a": "best", "b": "worse", "c": "worse"}
    row = models(outputs(made)).set_index("model").loc["b"]
    apart = tango_interval(0, 30, 60, df=59)
    assert (row["versus"], row["beaten_by"]) == ("a", "a")
    assert row["difference"] == pytest.approx(0.5)
    assert (row["difference_low"], row["difference_high"]) == (pytest.approx(-apart.high), pytest.approx(-apart.low))
    assert row["p"] == pytest.approx(2 * mcnemar_p(0, 30)), "after a and c, of which 40 cases differ"


def test_models_alike_on_many_cases_are_tied_and_one_far_off_is_worse() -> None:
    made = many(300, {"a": lambda n: n > 2, "b": lambda n: n > 3, "c": lambda n: n % 2 == 0})
    assert places(made) == {"a": "tied", "b": "tied", "c": "worse"}


def test_a_wider_tolerance_ties_sooner() -> None:
    made = many(100, {"a": lambda n: n > 2, "b": lambda n: n > 5})
    assert places(made)["b"] == "undecided"
    assert places(made, RankingOptions(tolerance=0.2))["b"] == "tied"


def test_a_named_model_is_the_reference() -> None:
    made = many(100, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "c": lambda n: n % 2 == 0 or n < 2})
    assert places(made, RankingOptions(against="b", tolerance=0.1)) == {"a": "better", "b": "reference", "c": "tied"}
    with pytest.raises(InputError, match="no model 'z'"):
        places(made, RankingOptions(against="z"))


def test_one_model_alone_and_one_that_was_never_scored() -> None:
    assert places(many(5, {"a": lambda n: True})) == {"a": "only model"}
    assert places(many(5, {"a": lambda n: True, "dead": lambda n: None})) == {"a": "undecided", "dead": "unscored"}
    assert places(many(5, {"dead": lambda n: None})) == {"dead": "unscored"}


def because(made: Run) -> dict[str, str | None]:
    ranking = rankings(outputs(made), list(made.manifest.models))
    return {name: one.because for name, one in ranking.models.items()}


def test_what_is_missing_is_named_where_it_keeps_a_place_undecided() -> None:
    made = many(200, {"a": lambda n: None if n < 80 else True, "b": lambda n: n % 8 > 0})
    assert places(made) == {"a": "undecided", "b": "undecided"}
    reason = "80 of 200 outputs of a are unscored"
    assert because(made) == {"a": reason, "b": reason}
    dead = many(200, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "dead": lambda n: None})
    assert places(dead) == {"a": "undecided", "b": "worse", "dead": "unscored"}
    assert because(dead)["a"] == "200 of 200 outputs of dead are unscored"


def test_a_model_that_was_never_asked_is_not_silently_beaten() -> None:
    made = many(
        200, {"a": lambda n: True, "b": lambda n: n % 2 == 0, "dear": lambda n: True}, asked=lambda m, n: m != "dear"
    )
    assert places(made) == {"a": "undecided", "b": "worse", "dear": "unscored"}
    assert because(made)["a"] == "dear was not asked"


def test_what_is_missing_and_could_not_turn_a_claim_leaves_it() -> None:
    made = many(200, {"a": lambda n: True, "b": lambda n: None if n < 5 else n % 2 == 0})
    assert places(made) == {"a": "best", "b": "worse"}


def test_models_are_compared_on_the_cases_asked_of_both() -> None:
    made = many(120, {"a": lambda n: n < 60, "b": lambda n: n % 2 == 0}, asked=lambda model, n: model == "b" or n < 60)
    row = models(outputs(made)).set_index("model").loc["b"]
    assert (row["decision"], row["difference"]) == ("worse", pytest.approx(0.5))


def test_repeats_of_a_case_are_one_mean() -> None:
    """Three repeats of ten cases are ten differences, not thirty: four that differ do not make ``b`` worse."""
    made = many(10, {"a": lambda n: True, "b": lambda n: n < 6}, repeats=3)
    assert places(made)["b"] == "undecided"
    assert models(outputs(made)).set_index("model").loc["b", "p"] == pytest.approx(mcnemar_p(4, 0))


def test_without_a_verdict_the_difference_is_all_that_it_may_be() -> None:
    def difference(lost: bool | None) -> dict[str, Any]:
        passes = {"a": lambda n: True, "b": lambda n: lost if n < 3 else n < 15}
        row = models(outputs(many(40, passes))).set_index("model").loc["b"]
        assert row["versus"] == "a"
        return {name: row[f"difference{name}"] for name in ("", "_low", "_high")}

    unknown = difference(None)
    assert pd.isna(unknown[""])
    assert (unknown["_low"], unknown["_high"]) == (difference(True)["_low"], difference(False)["_high"])


PARTS = tuple(tuple(f"c{n}" for n in range(start, start + 25)) for start in range(0, 100, 25))


def test_a_model_that_was_dropped_stays_worse_and_has_the_cases_that_it_was_asked() -> None:
    passes = {"a": lambda n: n > 1, "b": lambda n: n % 2 == 0, "c": lambda n: n > 0}
    made = many(100, passes, asked=lambda model, n: model != "b" or n < 50)
    options = RankingOptions(looks=PARTS, tolerance=0.2)
    assert places(made, options) == {"a": "tied", "b": "worse", "c": "tied"}
    ranking = rankings(outputs(made), list("abc"), options)
    assert {name: one.dropped_after for name, one in ranking.models.items()} == {"a": None, "b": 50, "c": None}
    assert worse_so_far(outputs(made), list("abc"), options) == {"b"}
    with pytest.raises(InputError, match="named model do not hold"):
        places(made, RankingOptions(looks=PARTS, against="a"))


def test_a_dropped_model_that_later_verdicts_do_not_show_to_be_worse_leaves_others_undecided() -> None:
    made = many(100, {"a": lambda n: n > 1, "b": lambda n: n > 2}, asked=lambda model, n: model != "b" or n < 50)
    ranking = rankings(outputs(made), list("ab"), RankingOptions(looks=PARTS, tolerance=0.2))
    assert {one.outcome for one in ranking.models.values()} == {"undecided"}
    assert ranking.models["a"].because == "b was not asked further after 50 cases"


def test_a_run_that_stopped_by_an_older_rule_is_read_and_decides_nothing() -> None:
    made = many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0}, asked=lambda model, n: n < 40)
    ranking = rankings(outputs(made), ["a", "b"], RankingOptions(looks=PARTS, older_rule=True))
    assert {one.outcome for one in ranking.models.values()} == {"undecided"}
    assert all("older rule" in (one.because or "") for one in ranking.models.values())


def test_the_cheapest_and_the_fastest_are_sought_among_the_good_enough() -> None:
    made = many(300, {"a": lambda n: n > 2, "b": lambda n: n > 3, "c": lambda n: n % 2 == 0})
    price = {"a": (0.02, 100.0), "b": (0.01, 300.0), "c": (0.001, 1.0)}
    priced = [one.replace(cost_usd=price[one.model][0], latency_ms=price[one.model][1]) for one in made.outputs]
    table = models(outputs(made.replace(outputs=tuple(priced)))).set_index("model")
    assert table["cheapest"].fillna(False).tolist() == [False, True, False]
    assert table["fastest"].fillna(False).tolist() == [True, False, False]
    assert table.loc["c", ["cheapest", "fastest"]].isna().all()
    assert table.loc["b", "cost_per_output"] == pytest.approx(0.01)
