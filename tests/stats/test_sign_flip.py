"""The exact test of paired differences: every signing counted, and McNemar's test where each case is asked once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.stats import sign_flip_p
from promptpex.stats.sign_flip import _bound
from tests.stats.oracles import mcnemar_p

whole = st.lists(st.integers(-4, 4), max_size=10)


def counted(differences: list[int]) -> float:
    """The share of all signings that go at least as far, by going through them."""
    seen = abs(sum(differences))
    signings = list(product((-1, 1), repeat=len(differences)))
    far = sum(abs(sum(s * abs(d) for s, d in zip(signs, differences, strict=True))) >= seen for signs in signings)
    return far / len(signings)


@settings(deadline=None)
@given(whole)
def test_every_signing_counts_once(differences: list[int]) -> None:
    assert sign_flip_p(np.array(differences, dtype=np.int64)) == pytest.approx(counted(differences), abs=1e-12)


@settings(deadline=None)
@given(whole, st.integers(1, 7))
def test_unit_and_order_and_who_comes_first_do_not_matter(differences: list[int], unit: int) -> None:
    p = sign_flip_p(np.array(differences, dtype=np.int64))
    assert sign_flip_p(np.array([-unit * d for d in reversed(differences)], dtype=np.int64)) == pytest.approx(p)


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5))
def test_with_one_repeat_it_is_mcnemars_exact_test(first: int, second: int, alike: int) -> None:
    p = sign_flip_p(np.array([1] * first + [-1] * second + [0] * alike, dtype=np.int64))
    assert p == pytest.approx(mcnemar_p(first, second))


def test_mcnemars_test_on_the_published_example() -> None:
    """Fagerland, Lydersen and Laake 2013, Table 3: airway hyper-responsiveness, 1 and 7 discordant pairs of 21."""
    assert round(sign_flip_p(np.array([1] + [-1] * 7 + [0] * 13)), 4) == 0.0703


def test_differences_of_very_many_sizes_are_rounded_before_they_are_flipped() -> None:
    """Sums up to 10 to the 15 cannot be counted out; whoever rounds keeps the p-value, and treats both signs alike."""
    rng = np.random.default_rng(2)
    small = rng.integers(-9, 11, 400)
    large = small * 10**12 + rng.integers(-1000, 1000, 400)
    p = sign_flip_p(large)
    assert p == pytest.approx(sign_flip_p(small), rel=0.05)
    assert sign_flip_p(-large) == pytest.approx(p)
    assert sign_flip_p(np.array([10**14, 1, -1])) == pytest.approx(1.0)
    assert sign_flip_p(np.array([10**14 + n for n in range(12)])) == pytest.approx(2 / 2**12)


def test_beyond_what_can_be_counted_the_p_value_is_a_bound_that_is_near() -> None:
    rng = np.random.default_rng(4)
    for shift in (0, 1, 2):
        few = rng.integers(-9, 10 + shift, 3_000)
        exact = sign_flip_p(few)
        bound = _bound(few)
        assert exact <= bound <= max(1e-12, 3.3 * exact)
    many = np.concatenate([rng.integers(-999, 1_020, 5_000), [1_000]])
    assert sign_flip_p(many) == sign_flip_p(-many) == pytest.approx(_bound(many))
