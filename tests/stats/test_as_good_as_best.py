"""Best, tied, worse, undecided: the decisions, their errors by simulation, and that no data do not make a tie."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.stats import (
    Grid,
    Suitability,
    difference_interval,
    holm,
    more_failures_p,
    pair,
    statements,
    suitability,
    tie_p,
)
from promptpex.stats.as_good_as_best import corrected_close, corrected_worse
from promptpex.stats.noninferiority import non_inferiority_p
from promptpex.stats.tango_interval import tango_interval
from tests.stats.grids import drawn, grid, grid_of
from tests.stats.oracles import mcnemar_p
from tests.stats.references import covers


def column(cases: int, *failed: range) -> list[int]:
    """A model that fails the cases of the ranges and passes the others."""
    return [int(any(n in part for part in failed)) for n in range(cases)]


def places(ranking: Suitability) -> dict[str, str]:
    return {name: one.outcome for name, one in ranking.models.items()}


def test_few_cases_leave_good_models_undecided_and_only_the_poor_one_is_out() -> None:
    ranking = suitability(grid([column(40, range(2)), column(40, range(1, 4)), column(40, range(25))]))
    assert places(ranking) == {"a": "undecided", "b": "undecided", "c": "worse"}
    assert ranking.models["c"].beaten_by == "a"
    assert ranking.anchor == "a"


def test_many_cases_show_a_tie() -> None:
    ranking = suitability(grid([column(400, range(20)), column(400, range(5, 26)), column(400, range(120))]))
    assert places(ranking) == {"a": "tied", "b": "tied", "c": "worse"}


def test_the_best_is_the_one_that_all_others_are_shown_to_be_worse_than() -> None:
    ranking = suitability(grid([column(60, range(40)), column(60), column(60, range(30))]))
    assert places(ranking) == {"a": "worse", "b": "best", "c": "worse"}
    assert ranking.anchor == "b"


def test_worse_and_by_little_is_decided_so() -> None:
    one = suitability(grid([column(3000, range(60)), column(3000, range(105))])).models["b"]
    assert (one.outcome, one.within_tolerance, one.beaten_by) == ("worse", True, "a")


def test_the_same_answers_on_five_cases_are_no_tie_and_on_two_hundred_they_are() -> None:
    assert places(suitability(grid([column(5), column(5)]))) == {"a": "undecided", "b": "undecided"}
    assert places(suitability(grid([column(200), column(200)]))) == {"a": "tied", "b": "tied"}


def test_asked_once_the_tests_are_mcnemars_and_tangos() -> None:
    made = grid([column(60, range(3)), column(60, range(2, 12))])
    assert more_failures_p(statements(made, 1, 0).worse) == pytest.approx(mcnemar_p(9, 2))
    assert more_failures_p(statements(made, 0, 1).worse) == 1.0
    assert tie_p(statements(made, 1, 0).close, 0.1) == pytest.approx(non_inferiority_p(2, 9, 60, 0.1))
    apart, plain = difference_interval(pair(made, 1, 0)), tango_interval(9, 2, 60, df=59)
    assert (apart.estimate, apart.low, apart.high) == pytest.approx((7 / 60, plain.low, plain.high))


def test_the_interval_of_a_difference_does_not_deny_what_the_exact_test_shows() -> None:
    """Ten cases of which two weigh five times: worth six alike, of which Tango's score says little."""
    made = replace(
        grid([[3] * 10, [3, 1, 1, 1, 0, 1, 0, 0, 1, 0]], repeats=3), weights=np.array([5, 1, 1, 1, 1, 5, 1, 1, 1, 1])
    )
    shift = pair(made, 0, 1)
    assert more_failures_p(shift) < 0.01
    assert difference_interval(shift).low >= 0.0
    assert difference_interval(pair(made, 1, 0)).high <= 0.0


def test_the_interval_of_a_difference_covers_with_few_pairs() -> None:
    """All outcomes of 30 pairs, each with its chance: 93% with the normal quantile where one model alone fails."""
    for only_first, only_second in ((0.3, 0.0), (0.2, 0.0), (0.3, 0.1), (0.1, 0.1)):
        missed = 0.0
        for b, c in ((first, second) for first in range(31) for second in range(31 - first)):
            shift = pair(grid([[1] * b + [0] * (30 - b), [0] * b + [1] * c + [0] * (30 - b - c)]), 0, 1)
            if not covers(difference_interval(shift), only_first - only_second):
                both = 1.0 - only_first - only_second
                ways = math.comb(30, b) * math.comb(30 - b, c)
                missed += ways * only_first**b * only_second**c * both ** (30 - b - c)
        assert missed < 0.06


def test_repeats_are_means_and_neither_majorities_nor_all_of_them() -> None:
    """One of three repeats of every case broken is worse than all repeats of one case in five."""
    every_third, one_in_five = [1] * 60, [3 if n % 5 == 0 else 0 for n in range(60)]
    ranking = suitability(grid([every_third, one_in_five], repeats=3))
    assert places(ranking) == {"a": "worse", "b": "best"}


def test_repeats_that_agree_make_a_difference_surer_than_one_answer_does() -> None:
    rng = np.random.default_rng(0)
    once = grid([rng.binomial(1, 0.5, 100), rng.binomial(1, 0.5, 100)])
    often = grid([rng.binomial(8, 0.5, 100), rng.binomial(8, 0.5, 100)], repeats=8)
    assert difference_interval(pair(often, 0, 1)).width < 0.6 * difference_interval(pair(once, 0, 1)).width


def test_one_more_difference_never_makes_models_look_more_alike() -> None:
    """With repeats as well: no data is the weakest evidence, and a first small difference is not a gain."""
    made = [grid([[0] * 60, [1] * k + [0] * (60 - k)], repeats=3) for k in range(12)]
    p = [tie_p(statements(one, 1, 0).close, 0.2) for one in made]
    assert p == sorted(p)


def test_a_rival_with_one_scored_output_keeps_others_from_being_tied() -> None:
    counts = {name: {f"c{n}": (0, 1, 0) for n in range(200)} for name in "ab"}
    assert places(suitability(grid_of(counts)))["a"] == "tied"
    assert places(suitability(grid_of({**counts, "few": {"c0": (0, 1, 0)}})))["a"] == "undecided"
    assert places(suitability(grid_of({**counts, "never": {}}))) == {
        "a": "undecided",
        "b": "undecided",
        "never": "unscored",
    }


def test_one_lucky_answer_does_not_win() -> None:
    solid = {f"c{n}": (int(n < 4), int(n >= 4), 0) for n in range(50)}
    assert suitability(grid_of({"lucky": {"c9": (0, 1, 0)}, "solid": solid})).anchor == "solid"


def test_nothing_scored_is_nobodys_place() -> None:
    assert places(suitability(grid_of({"gone": {"x": (0, 0, 1)}, "never": {}}))) == {
        "gone": "unscored",
        "never": "unscored",
    }
    assert suitability(grid_of({})).anchor is None
    assert places(suitability(grid([column(10)]))) == {"a": "only model"}


def test_against_a_named_model() -> None:
    made = grid([column(300, range(30)), column(300, range(5)), column(300, range(1, 31)), column(300, range(90))])
    ranking = suitability(made, against="a")
    assert places(ranking) == {"a": "reference", "b": "better", "c": "tied", "d": "worse"}
    with pytest.raises(InputError, match="nobody"):
        suitability(made, against="nobody")
    with pytest.raises(InputError):
        suitability(made, tolerance=0)


def test_a_model_without_a_name_beats_another_all_the_same() -> None:
    ranking = suitability(replace(grid([column(60), column(60, range(60))]), models=("", "b")))
    assert places(ranking) == {"": "best", "b": "worse"}
    assert ranking.models["b"].beaten_by == ""


def test_one_open_output_changes_what_one_output_can_change() -> None:
    """It keeps nobody from being best, better or tied where either way to read it shows the same."""
    one_open = [[0] * 199 + [1], [0] * 200]
    far = grid([column(200), column(200, range(100))], open=one_open)
    assert places(suitability(far)) == {"a": "best", "b": "worse"}
    assert places(suitability(far, against="b")) == {"a": "better", "b": "reference"}
    near = grid([column(200), column(200)], open=one_open)
    assert places(suitability(near)) == {"a": "tied", "b": "tied"}
    close = grid([column(200), column(200, range(6))], open=one_open)
    assert places(suitability(close))["b"] != "worse"


tiny = st.lists(st.lists(st.sampled_from(["pass", "fail", "open"]), min_size=9, max_size=9), min_size=2, max_size=3)


@settings(deadline=None, max_examples=30)
@given(tiny, st.sampled_from([0.3, 0.6]))
def test_a_place_holds_on_every_completion_of_what_is_open(verdicts: list[list[str]], tolerance: float) -> None:
    """At a lax level, so that tiny grids show something: each claim is a claim on each way to fill what is open."""
    alpha = 0.6
    made = grid(
        [[int(v == "fail") for v in row] for row in verdicts],
        open=[[int(v == "open") for v in row] for row in verdicts],
    )
    ranking = suitability(made, tolerance=tolerance, alpha=alpha)
    spots = [(m, c) for m, row in enumerate(verdicts) for c, value in enumerate(row) if value == "open"]
    if len(spots) > 7:
        return
    for filling in product((0, 1), repeat=len(spots)):
        broken = made.broken.copy()
        for (model, case), fails in zip(spots, filling, strict=True):
            broken[model, case] = fails
        whole = suitability(grid(broken.tolist()), tolerance=tolerance, alpha=alpha)
        for name, one in ranking.models.items():
            if one.outcome == "worse":
                assert whole.models[name].outcome == "worse"
            if one.within_tolerance:
                assert whole.models[name].within_tolerance


def test_holm_counts_pairs_once_and_ties_from_all_but_one() -> None:
    p = {("a", "b"): 0.01, ("b", "a"): 1.0, ("a", "c"): 0.04, ("c", "a"): 1.0, ("b", "c"): 1.0, ("c", "b"): 0.02}
    corrected = corrected_worse(p)
    assert [corrected[couple] for couple in (("a", "b"), ("c", "b"), ("a", "c"))] == pytest.approx([0.03, 0.04, 0.04])
    assert corrected["b", "a"] == 1.0
    close = {(i, j): {"a": 0.01, "b": 0.02, "c": 0.03}[i] for i in "abc" for j in "abc" if i != j}
    assert list(corrected_close("abc", close).values()) == pytest.approx([0.02, 0.04, 0.04])
    assert holm([0.01, 0.02, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert corrected_close(["a", "b", "never"], {("a", "b"): 0.0, ("b", "a"): 0.0}) == {"a": 1.0, "b": 1.0}


def wrong(made: Grid, rates: list[float], tolerance: float = 0.05) -> tuple[bool, bool]:
    """Whether a model is called worse that is not, or tied that is not."""
    rate = dict(zip(made.models, rates, strict=True))
    models = suitability(made, tolerance=tolerance).models.values()
    false = [one for one in models if one.beaten_by and rate[one.beaten_by] >= rate[one.model]]
    far = [one for one in models if one.within_tolerance and rate[one.model] - min(rates) >= tolerance - 1e-9]
    return bool(false), bool(far)


@pytest.mark.parametrize("rates", [[0.1] * 4, [0.1, 0.15, 0.15], [0.05, 0.05, 0.1, 0.4]])
@pytest.mark.parametrize(("cases", "repeats"), [(60, 1), (150, 3)])
def test_no_statement_is_wrong_more_often_than_alpha(rates: list[float], cases: int, repeats: int) -> None:
    rng, rounds = np.random.default_rng(1), 80
    wrong_claims = [wrong(drawn(rng, rates, cases, repeats=repeats), rates) for _ in range(rounds)]
    # At a true rate of .05 more than 9 of 80 has probability .008.
    assert sum(worse for worse, _ in wrong_claims) <= 9
    assert sum(tied for _, tied in wrong_claims) <= 9


def test_many_different_numbers_of_repeats_are_compared_in_bounded_time() -> None:
    """Their least common multiple has no room in a machine's number."""
    counts = {
        name: {f"c{n}": (5 + 20 * worse, 24 + n - 20 * worse, 0) for n in range(22)}
        for name, worse in (("a", 1), ("b", 0))
    }
    made = grid_of(counts)
    assert more_failures_p(statements(made, 0, 1).worse) == pytest.approx(2.0**-21, rel=0.01)
    assert more_failures_p(statements(made, 1, 0).worse) == 1.0
