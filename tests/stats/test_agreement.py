"""Agreement of raters: statsmodels, published examples, brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.stats.agreement import agreement, cohens_kappa
from promptpex.stats.clustered_agreement import kappa_bootstrap
from promptpex.stats.intervals import wilson

np = pytest.importorskip("numpy")
rater = pytest.importorskip("statsmodels.stats.inter_rater")
labels = st.sampled_from(["pass", "fail", "both"])
rated = st.lists(st.tuples(labels, labels), min_size=2, max_size=60)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(deadline=None)
@given(rated)
def test_kappa_is_statsmodels(pairs: list[tuple[str, str]]) -> None:
    got = agreement(pairs)
    if got.kappa.estimate is None:
        assert len({x for pair in pairs for x in pair}) == 1
        return
    theirs = rater.cohens_kappa(np.asarray(got.table))
    assert got.kappa.estimate == pytest.approx(float(theirs.kappa), abs=1e-12)
    if got.kappa.method == "fleiss-cohen-everitt":
        assert got.kappa.low == pytest.approx(max(-1.0, float(theirs.kappa_low)), abs=1e-6)
        assert got.kappa.high == pytest.approx(min(1.0, float(theirs.kappa_upp)), abs=1e-6)
    assert got.kappa.width > 0


def test_the_published_example() -> None:
    """Fleiss, Cohen and Everitt 1969, Table 1 (as reproduced in Fleiss, Statistical Methods, table 13.1)."""
    table = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]
    got = cohens_kappa(table)
    assert got.estimate == pytest.approx(0.676, abs=5e-4)
    assert (got.high - got.low) / 2 / 1.959964 == pytest.approx(0.088, abs=5e-4)


def test_agreement_tells_the_base_rates_beside_kappa() -> None:
    """Feinstein and Cicchetti 1990: 85 % agreement both times, kappa .70 and .32 by prevalence alone."""
    balanced = agreement(_pairs(40, 9, 6, 45))
    skewed = agreement(_pairs(80, 10, 5, 5))
    assert balanced.raw.estimate == skewed.raw.estimate == 0.85
    assert balanced.kappa.estimate == pytest.approx(0.70, abs=0.005)
    assert skewed.kappa.estimate == pytest.approx(0.32, abs=0.005)
    assert skewed.prevalence == pytest.approx(0.75)
    assert skewed.bias == pytest.approx(0.05)
    assert skewed.adjusted == pytest.approx(0.7)
    assert skewed.labels == ("no", "yes")
    assert skewed.base_first == pytest.approx((0.1, 0.9))
    assert skewed.base_second == pytest.approx((0.15, 0.85))
    assert skewed.chance == pytest.approx(0.78)
    assert skewed.raw == wilson(85, 100)


def _pairs(yes: int, yes_no: int, no_yes: int, no: int) -> list[tuple[str, str]]:
    return [("yes", "yes")] * yes + [("yes", "no")] * yes_no + [("no", "yes")] * no_yes + [("no", "no")] * no


def test_kappa_is_none_where_it_means_nothing() -> None:
    for pairs in ([], [(True, None)], [(True, True)] * 9):
        got = agreement(pairs)
        assert got.kappa.estimate is None
        assert (got.kappa.low, got.kappa.high) == (-1, 1)
    assert agreement([(True, None), (True, False)]).n == 1
    assert agreement([(True, True)] * 3, labels=[True, False]).prevalence == 1


def test_perfect_agreement_on_few_items_is_not_certainty() -> None:
    got = agreement([(True, True)] * 4 + [(False, False)] * 4)
    assert got.kappa.estimate == got.kappa.high == 1
    assert got.kappa.low < 0.6
    again = kappa_bootstrap([(True, True)] * 4 + [(False, False)] * 4, [1, 1, 2, 2, 3, 3, 4, 4], seed=1)
    assert again.low < got.kappa.low


def test_a_rater_with_one_answer_is_kappa_zero_but_not_for_certain() -> None:
    got = agreement([("pass", "fail")] * 3 + [("fail", "fail")] * 2).kappa
    assert got.estimate == pytest.approx(0)
    assert got.low < -0.1
    assert got.high > 0.1


@settings(deadline=None)
@given(rated)
def test_swapping_raters_changes_nothing(pairs: list[tuple[str, str]]) -> None:
    one, other = agreement(pairs), agreement([(b, a) for a, b in pairs])
    assert one.raw == other.raw
    assert one.kappa.low == pytest.approx(other.kappa.low)
    assert one.base_first == other.base_second


def test_bootstrap_of_single_items_is_near_the_large_sample_interval() -> None:
    pairs = _pairs(60, 10, 15, 65)
    large = agreement(pairs).kappa
    got = kappa_bootstrap(pairs, list(range(150)), seed=2)
    assert got.estimate == large.estimate
    assert (got.low, got.high) == pytest.approx((large.low, large.high), abs=0.03)
    tight = kappa_bootstrap(pairs * 4, list(range(150)) * 4, seed=2)
    assert tight.width == pytest.approx(got.width, rel=0.1)
    assert kappa_bootstrap(pairs, list(range(150)), seed=2) == got
    assert kappa_bootstrap([(True, True)], ["a"], seed=1).estimate is None


def test_kappa_interval_covers() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(500):
        truth = rng.random(120) < 0.4
        first, second = (np.where(rng.random(120) < 0.85, truth, ~truth) for _ in range(2))
        covered += agreement(list(zip(first.tolist(), second.tolist(), strict=True))).kappa.contains(
            kappa_in_the_limit()
        )
    assert covered / 500 > 0.92


def kappa_in_the_limit() -> float:
    yes = 0.4 * 0.85 + 0.6 * 0.15
    observed = 0.85**2 + 0.15**2
    chance = yes**2 + (1 - yes) ** 2
    return (observed - chance) / (1 - chance)
