"""Ties are shown, not assumed: how many cases it takes, and against whom."""

from __future__ import annotations

from itertools import pairwise

import pytest

from promptpex.tables import RankingOptions, rankings
from tests.numbers.world import by, cases, first, frame, simulated, summed


@pytest.mark.parametrize(("models", "few", "enough"), [(2, 58, 59), (3, 71, 75), (5, 85, 104)])
def test_models_that_never_fail_are_tied_from_as_many_cases_as_it_takes(models: int, few: int, enough: int) -> None:
    """Of k models k - 1 at most can be out of tolerance, so the correction begins there: 0.95^few > 0.05 / (k - 1)."""
    names = [f"m{number}" for number in range(models)]
    assert 0.95**few > 0.05 / (models - 1)
    for count, place in ((few, "undecided"), (enough, "tied")):
        rows = frame(**dict.fromkeys(names, [False] * count))
        ranked = rankings(rows, names, RankingOptions()).models
        assert {one.outcome for one in ranked.values()} == {place}


def test_a_tie_is_with_the_best_whichever_that_is() -> None:
    """b and c are close to each other and not to a, which never fails: nobody says that they are close to the best."""
    fates = by({"a": first(0), "b": first(30), "c": first(30)})
    _, rows = summed(simulated(["a", "b", "c"], cases(300, 16), fates, judge=False))
    assert [row["decision"] for row in rows.values()] == ["best", "worse", "worse"]
    fates = by({"a": first(0), "b": first(4), "c": first(4)})
    _, rows = summed(simulated(["a", "b", "c"], cases(300, 16), fates, judge=False))
    assert [row["decision"] for row in rows.values()] == ["tied", "tied", "tied"]


def test_a_wider_tolerance_ties_more_and_never_less() -> None:
    fates = by({"a": first(10), "b": first(20), "c": lambda case, repeat: "broken" if case % 20 == 0 else "kept"})
    run = simulated(["a", "b", "c"], cases(200, 16), fates, judge=False)
    tied = [
        {name for name, row in summed(run, tolerance=tolerance)[1].items() if row["decision"] == "tied"}
        for tolerance in (0.02, 0.05, 0.1, 0.15, 0.2, 0.4)
    ]
    assert all(narrow <= wide for narrow, wide in pairwise(tied))
    assert tied[0] == set()
    assert {"a", "c"} <= tied[-1]


def test_beside_a_named_model_there_is_one_statement_a_model() -> None:
    fates = by({"a": first(0), "b": first(0), "c": first(60)})
    _, rows = summed(simulated(["a", "b", "c"], cases(75, 16), fates, judge=False), against="fake/a")
    assert [row["decision"] for row in rows.values()] == ["reference", "tied", "worse"]
    assert {row["versus"] for row in rows.values()} == {None, "fake/a"}
