"""The evaluation's tables where repeats of a case, and cases of one aim, hang together."""

from __future__ import annotations

import pytest

from promptpex.records import Case, Run
from promptpex.stats import fisher_exact, wilson
from promptpex.tables import bench
from tests.tables.by_hand import output, run, verdict

REPEATS = 5


def repeated(broken: set[str], times: int) -> Run:
    """Five generated and five baseline cases, each asked so many times; those of ``broken`` always fail."""
    aimed = [Case(id=f"c{n}", rule="r1", inputs={"thing": str(n)}) for n in range(5)]
    free = [Case(id=f"b{n}", inputs={"thing": str(n)}) for n in range(5)]
    asked = [(case.id, repeat) for case in (*aimed, *free) for repeat in range(times)]
    return run(
        [output(case, repeat=repeat) for case, repeat in asked],
        [verdict("fail" if case in broken else "pass", case=case, repeat=repeat) for case, repeat in asked],
        cases=(*aimed, *free),
    )


def test_repeats_do_not_make_a_difference_surer() -> None:
    broken = {"c0", "c1", "c2", "c3"}
    (once,) = bench.suites("x", repeated(broken, 1)).to_dict("records")
    (often,) = bench.suites("x", repeated(broken, REPEATS)).to_dict("records")
    assert (once["first_broken"], once["first_n"]) == (4, 5)
    assert (often["first_broken"], often["first_n"]) == (4 * REPEATS, 5 * REPEATS)
    assert often["p"] == once["p"] == pytest.approx(fisher_exact(4, 5, 0, 5))
    independent = wilson(4 * REPEATS, 5 * REPEATS)
    assert often["first_high"] - often["first_low"] > independent.width
    assert often["difference_low"] < 0.8 - 0.3
    assert once["first_low"] == pytest.approx(wilson(4, 5).low)


def test_the_paired_difference_counts_a_case_once() -> None:
    ours, theirs = repeated({"b0", "b1"}, REPEATS), repeated(set(), REPEATS)
    (row,) = bench.agreement_with_spec("x", ours, theirs, {}).to_dict("records")
    assert (row["cases"], row["prompt_broken"], row["spec_broken"]) == (10, 2, 0)
    assert row["difference"] == pytest.approx(0.2)
    assert row["p"] == pytest.approx(0.5)


def test_a_side_without_any_case_has_no_share_and_no_test() -> None:
    (row,) = bench.sides("x", repeated(set(), 1)).to_dict("records")
    assert (row["first_n"], row["second_n"]) == (5, 0)
    assert bench.sides("x", repeated(set(), 1))[["second_share", "difference", "p"]].isna().all(axis=None)


def test_without_tables_the_columns_stay() -> None:
    assert list(bench.stacked([], bench.CONTRAST_COLUMNS).columns) == list(bench.CONTRAST_COLUMNS)
    assert list(bench.failed([]).columns) == list(bench.FAILED_COLUMNS)
