"""Best, tied, worse, undecided: the places, their errors by simulation, and that no data is no tie."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.errors import InputError
from promptpex.stats.holm import holm
from promptpex.stats.noninferiority import non_inferiority
from promptpex.stats.paired import PairedCounts, count_pairs, mcnemar
from promptpex.stats.power import more_cases_to_decide
from promptpex.stats.suitability import Suitability, compare_with, suitability

np = pytest.importorskip("numpy")

Cases = dict[str, bool | None]


def column(n: int, *failed: range) -> Cases:
    """A model that fails the cases of the ranges and passes the others of ``n``."""
    return {str(i): not any(i in part for part in failed) for i in range(n)}


def places(result: Suitability) -> dict[str, str]:
    return {model.model: model.place for model in result.models}


def test_few_cases_leave_good_models_undecided_and_only_the_poor_one_is_out() -> None:
    got = suitability({"a": column(40, range(2)), "b": column(40, range(1, 4)), "c": column(40, range(25))})
    assert places(got) == {"a": "best", "b": "undecided", "c": "worse"}
    b, c = got.models[1], got.models[2]
    assert b.more_cases is not None
    assert b.more_cases > 40
    assert (c.beaten_by, c.more_cases) == ("a", None)
    assert got.candidates == ("a", "b")
    assert got.acceptable == ("a",)
    assert not got.models[0].within_tolerance


def test_many_cases_show_a_tie() -> None:
    got = suitability({"a": column(400, range(20)), "b": column(400, range(5, 26)), "c": column(400, range(120))})
    assert places(got) == {"a": "best", "b": "tied", "c": "worse"}
    assert got.acceptable == ("a", "b")
    assert got.models[0].within_tolerance
    assert got.models[1].more_cases is None


def test_worse_for_certain_by_certainly_little_is_said_so() -> None:
    got = suitability({"a": column(3000, range(60)), "b": column(3000, range(105))})
    b = got.models[1]
    assert (b.place, b.within_tolerance, b.beaten_by) == ("worse", True, "a")
    assert got.acceptable == ("a", "b")
    assert got.candidates == ("a",)


def test_the_same_answers_on_five_cases_are_no_tie() -> None:
    got = suitability({"a": column(5), "b": column(5)})
    assert places(got) == {"a": "best", "b": "undecided"}
    assert got.models[1].more_cases is not None
    assert places(suitability({"a": column(200), "b": column(200)})) == {"a": "best", "b": "tied"}


def test_the_figures_are_those_of_the_tests_they_name() -> None:
    results = {"a": column(60, range(3)), "b": column(60, range(2, 12)), "c": column(60, range(1, 30))}
    got = suitability(results, tolerance=0.1)
    tables = [count_pairs((results[x][k], results[y][k]) for k in results["a"]) for x, y in ("ab", "ac", "bc")]
    assert [pair.counts for pair in got.pairs] == tables
    assert [pair.adjusted for pair in got.pairs] == holm([mcnemar(table) for table in tables])
    b = next(model for model in got.models if model.model == "b")
    assert b.counts == tables[0].swapped
    assert b.p == got.pairs[0].adjusted
    assert b.difference.estimate == pytest.approx(-7 / 60)
    assert b.place == "undecided"
    assert b.more_cases == more_cases_to_decide(b.counts, 0.1, alpha_difference=0.05, alpha_tolerance=0.05 / 3)


def test_one_lucky_answer_does_not_win() -> None:
    lucky: Cases = {"0": True, "1": None, "2": None}
    got = suitability({"lucky": lucky, "solid": column(50, range(4))})
    assert got.anchor == "solid"
    assert places(got) == {"lucky": "undecided", "solid": "best"}


def test_unscored_models_are_named_and_block_nobody() -> None:
    results = {"gone": dict.fromkeys(column(200)), "a": column(200), "b": column(200, range(1))}
    got = suitability(results)
    assert places(got) == {"a": "best", "b": "tied", "gone": "unscored"}
    assert places(suitability({"gone": {"x": None}, "never": {}})) == {"gone": "unscored", "never": "unscored"}
    assert suitability({}).anchor is None
    assert suitability({"only": column(10)}).at("best") == ("only",)


def test_against_a_named_model() -> None:
    results = {
        "ref": column(300, range(30)),
        "up": column(300, range(5)),
        "same": column(300, range(1, 31)),
        "down": column(300, range(90)),
        "gone": dict.fromkeys(column(300)),
    }
    got = compare_with(results, "ref")
    assert places(got) == {"up": "better", "ref": "reference", "same": "tied", "down": "worse", "gone": "unscored"}
    assert got.acceptable == ("up", "ref", "same")
    assert len(got.pairs) == 3
    assert places(compare_with(results, "gone"))["up"] == "undecided"
    with pytest.raises(InputError, match="nobody"):
        compare_with(results, "nobody")
    with pytest.raises(InputError):
        suitability(results, tolerance=0)


@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.dictionaries(st.integers(0, 30).map(str), st.sampled_from([True, False, None])),
        max_size=4,
    )
)
def test_whatever_comes_every_model_has_one_place(results: dict[str, Cases]) -> None:
    got = suitability(results)
    assert sorted(model.model for model in got.models) == sorted(results)
    assert len(got.at("best")) == (1 if any(v is not None for c in results.values() for v in c.values()) else 0)
    for model in got.models:
        assert (model.beaten_by is not None) == (model.place == "worse") or model.place == "best"
        assert model.more_cases is None or (model.place == "undecided" and model.more_cases >= 1)
        if model.place == "tied":
            rivals = [m for m in got.models if m.model != model.model and 2 * m.share.n >= model.share.n]
            assert rivals


def draw(rng: object, rates: dict[str, float], n: int) -> dict[str, Cases]:
    """Passes that hang together over models, as those on the same cases do."""
    generator = np.random.default_rng(rng)
    difficulty = generator.random(n)
    results: dict[str, Cases] = {}
    for model, rate in rates.items():
        felt = np.where(generator.random(n) < 0.7, difficulty, generator.random(n))
        results[model] = {str(i): bool(x) for i, x in enumerate(felt < rate)}
    return results


@pytest.mark.parametrize(
    "rates",
    [
        {"a": 0.9, "b": 0.9, "c": 0.9, "d": 0.9},
        {"a": 0.9, "b": 0.85, "c": 0.85, "d": 0.85},
        {"a": 0.95, "b": 0.95, "c": 0.9, "d": 0.6},
    ],
)
@pytest.mark.parametrize("n", [60, 200])
def test_no_statement_is_wrong_more_often_than_alpha(rates: dict[str, float], n: int) -> None:
    rounds = 60
    best = max(rates.values())
    wrong_worse = wrong_tied = 0
    for seed in range(rounds):
        got = suitability(draw(seed, rates, n))
        wrong_worse += any(
            rates[m.beaten_by] <= rates[m.model] for m in got.models if m.beaten_by and m.place == "worse"
        )
        wrong_tied += any(best - rates[m.model] >= 0.05 - 1e-9 for m in got.models if m.within_tolerance)
    # At a true rate of 0.05 more than 7 of 60 has probability 0.013; the tests are conservative and stay below.
    assert wrong_worse <= 7
    assert wrong_tied <= 7


def test_the_planned_cases_mostly_decide() -> None:
    rates = {"a": 0.9, "b": 0.8}
    decided = planned = 0
    for seed in range(60):
        first = suitability(draw(seed, rates, 80))
        more = next((m.more_cases for m in first.models if m.place == "undecided"), None)
        if more is None or more > 2000:
            continue
        planned += 1
        again = suitability(draw(1000 + seed, rates, 80 + more))
        decided += not again.at("undecided")
    assert planned > 20
    assert decided / planned > 0.5


def test_the_tie_is_the_non_inferiority_test() -> None:
    counts = PairedCounts(140, 2, 2, 0)
    results = {"a": column(144, range(2)), "b": column(144, range(2, 4))}
    tied = suitability(results).models
    assert tied[1].p_tolerance == pytest.approx(holm([non_inferiority(counts, 0.05).p] * 2)[0])
