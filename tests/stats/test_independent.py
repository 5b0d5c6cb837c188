from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.stats import difference_of_intervals, fisher_exact, wilson

counts = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_newcombes_own_example() -> None:
    """Newcombe 1998, Stat. Med. 17:873, table II, case (a), method 10: 56/70 against 48/80."""
    found = difference_of_intervals(wilson(56, 70), wilson(48, 80))
    assert found.low == pytest.approx(0.0524, abs=5e-5)
    assert found.high == pytest.approx(0.3339, abs=5e-5)


@given(counts, counts)
def test_the_difference_turns_round_with_its_groups(a: tuple[int, int], b: tuple[int, int]) -> None:
    first, second = wilson(*a), wilson(*b)
    there, back = difference_of_intervals(first, second), difference_of_intervals(second, first)
    assert there.low == pytest.approx(-back.high)
    assert -1 <= there.low <= there.high <= 1
    if there.estimate is not None:
        assert there.low <= there.estimate <= there.high


def test_a_wider_interval_of_one_group_widens_the_difference() -> None:
    sure, unsure, other = wilson(30, 60), wilson(5, 10), wilson(20, 60)
    assert difference_of_intervals(unsure, other).width > difference_of_intervals(sure, other).width


@given(counts, counts)
def test_fisher_agrees_with_scipy(a: tuple[int, int], b: tuple[int, int]) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    table = [[a[0], a[1] - a[0]], [b[0], b[1] - b[0]]]
    assert fisher_exact(*a, *b) == pytest.approx(scipy_stats.fisher_exact(table).pvalue, abs=1e-7)
