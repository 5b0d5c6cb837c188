"""The evaluation's tables: a case counts once, by the mean of its repeats."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any

import pytest

from benchmarks.reproduce import tables as result_tables
from benchmarks.reproduce.averages import averages
from promptpex.core.records import Case, Run
from promptpex.stats import clopper_pearson
from tests.tables.by_hand import output, run, verdict

REPEATS = 5
AIMED = [f"c{n}" for n in range(5)]
FREE = [f"b{n}" for n in range(5)]

Marks = dict[str, str]
"""Per case what became of each repeat: ``f`` breaks the rule, ``.`` keeps it, ``?`` has no verdict, ``x`` no answer."""


def marked(marks: Mapping[str, Marks]) -> Run:
    """Models whose repeats end as marked, on cases that aim at a rule (``c``) or at none (``b``)."""
    statuses = {"f": "fail", ".": "pass", "?": "unscored", "x": "unscored"}
    outputs, verdicts = [], []
    for model, cases in marks.items():
        for case, repeats in cases.items():
            for repeat, mark in enumerate(repeats):
                why = {"x": {"unscored": "timeout"}, "?": {"unscored": "malformed"}}.get(mark, {})
                error: dict[str, Any] = {"text": None, "error": "timeout"} if mark == "x" else {}
                outputs.append(output(case, model, repeat=repeat, **error))
                verdicts.append(verdict(statuses[mark], case=case, model=model, repeat=repeat, **why))
    ids = list(dict.fromkeys(case for of_model in marks.values() for case in of_model))
    known = tuple(Case(id=one, rule="r1" if one[0] == "c" else None, inputs={"thing": one}) for one in ids)
    return run(outputs, verdicts, models=tuple(marks), cases=known)


def always(broken: set[str], times: int = 1) -> Marks:
    """Five generated and five baseline cases, each asked so many times; those of ``broken`` always fail."""
    return {case: ("f" if case in broken else ".") * times for case in (*AIMED, *FREE)}


def only(table: Any) -> dict[str, Any]:
    (row,) = table.to_dict("records")
    assert isinstance(row, dict)
    return row


def test_one_repeat_has_exact_intervals_and_fishers_test() -> None:
    row = only(result_tables.suites("x", marked({"m": always({"c0", "c1", "c2", "c3"})})))
    assert (row["first_broken"], row["first_n"], row["second_broken"], row["second_n"]) == (4, 5, 0, 5)
    exact = clopper_pearson(4, 5)
    assert (row["first_low"], row["first_high"]) == pytest.approx((exact.low, exact.high))
    assert row["difference"] == pytest.approx(0.8)
    assert row["p"] == pytest.approx(2 * 5 / comb(10, 4))


def test_repeats_that_say_the_same_do_not_make_a_difference_surer() -> None:
    broken = {"c0", "c1", "c2", "c3"}
    once = only(result_tables.suites("x", marked({"m": always(broken)})))
    often = only(result_tables.suites("x", marked({"m": always(broken, REPEATS)})))
    assert (often["first_broken"], often["first_n"]) == (4 * REPEATS, 5 * REPEATS)
    for name in ("p", "first_low", "first_high", "second_high", "difference_low", "difference_high"):
        assert often[name] == pytest.approx(once[name]), name


def test_a_case_that_fails_in_two_of_five_repeats_is_neither_kept_nor_broken() -> None:
    marks = dict.fromkeys(AIMED, "f.f..") | dict.fromkeys(FREE, ".....")
    row = only(result_tables.suites("x", marked({"m": marks})))
    assert (row["first_share"], row["second_share"], row["difference"]) == pytest.approx((0.4, 0.0, 0.4))
    assert row["p"] == pytest.approx(2 / comb(10, 5))


def test_a_share_is_the_mean_of_the_cases_and_not_of_the_outputs() -> None:
    row = only(result_tables.suites("x", marked({"m": {"c0": "fxxx", "c1": "....", "b0": "."}})))
    assert row["first_share"] == pytest.approx(0.5)
    assert (row["first_broken"], row["first_n"], row["first_unscored"]) == (1, 5, 3)


def test_without_a_verdict_the_share_is_a_lower_bound_and_the_difference_a_range() -> None:
    marks = {"c0": "f", "c1": "f", "c2": "f", "c3": "?", "c4": "?"} | dict.fromkeys(FREE, ".")
    row = only(result_tables.suites("x", marked({"m": marks})))
    assert (row["first_broken"], row["first_n"], row["first_unscored"]) == (3, 3, 2)
    assert (row["first_share"], row["first_at_least"], row["second_at_least"]) == (0.6, True, False)
    assert (row["first_low"], row["first_high"]) == (pytest.approx(clopper_pearson(3, 5).low), 1.0)
    assert result_tables.suites("x", marked({"m": marks}))["difference"].isna().all()
    fewest, most = (
        only(result_tables.suites("x", marked({"m": {**marks, "c3": mark, "c4": mark}}))) for mark in (".", "f")
    )
    assert row["difference_low"] == pytest.approx(fewest["difference_low"])
    assert row["difference_high"] == pytest.approx(most["difference_high"])
    assert row["p"] == pytest.approx(fewest["p"])


def test_an_output_that_failed_for_want_of_an_answer_speaks_against_the_difference() -> None:
    marks = always(set(AIMED)) | {"b3": "x", "b4": "x"}
    row = only(result_tables.suites("x", marked({"m": marks})))
    assert (row["second_share"], row["second_n"], row["second_unscored"], row["second_at_least"]) == (0, 3, 2, False)
    assert row["p"] == pytest.approx(only(result_tables.suites("x", marked({"m": always({*AIMED, "b3", "b4"})})))["p"])


def test_the_paired_difference_counts_a_case_by_the_mean_of_its_repeats() -> None:
    ours = marked({"m": always({"b0"}, REPEATS) | {"b1": "ff...", "b2": "f...."}})
    theirs = marked({"m": always(set(), REPEATS) | {"b1": "f....", "b2": "f...."}})
    row = only(result_tables.agreement_with_spec("x", ours, theirs, {"m": (0.5, 1.0)}))
    assert (row["cases"], row["unscored"]) == (10, 0)
    assert (row["prompt_broken"], row["prompt_scored"], row["spec_broken"]) == (8, 50, 2)
    assert (row["prompt_share"], row["spec_share"]) == pytest.approx((0.16, 0.04))
    assert (row["difference"], row["cosine"]) == pytest.approx((0.12, 0.75))
    assert row["p"] == pytest.approx(0.5), "two cases differ, both in the same direction"
    assert row["difference_low"] < 0.12 < row["difference_high"]


def test_a_case_that_is_unscored_on_either_side_is_left_out_of_the_pairs_and_counted() -> None:
    ours = marked({"m": always({"b0", "b1"}) | {"b2": "x", "b3": "?"}})
    theirs = marked({"m": {**dict.fromkeys(FREE, "."), "b0": "?"}})
    row = only(result_tables.agreement_with_spec("x", ours, theirs, {}))
    assert (row["cases"], row["unscored"]) == (2, 3)
    assert (row["prompt_broken"], row["spec_broken"], row["difference"]) == (1, 0, 0.5)


def test_a_model_without_any_pair_has_no_difference_and_no_test() -> None:
    ours = marked({"m": always(set()), "n": dict.fromkeys(FREE, "x")})
    theirs = marked({"m": always(set()), "n": dict.fromkeys(FREE, ".")})
    table = result_tables.agreement_with_spec("x", ours, theirs, {})
    assert table["cases"].tolist() == [10, 0]
    assert table.loc[1, ["prompt_share", "spec_share", "difference", "p", "cosine"]].isna().all()
    assert result_tables.agreement_with_spec("x", ours, None, {}).empty


def test_a_side_without_any_case_has_no_share_and_no_test() -> None:
    row = only(result_tables.sides("x", marked({"m": always(set())})))
    assert (row["first_n"], row["second_n"]) == (5, 0)
    table = result_tables.sides("x", marked({"m": always(set())}))
    assert table[["second_share", "difference", "p"]].isna().all(axis=None)


def test_a_side_whose_outputs_are_all_unscored_has_no_share_and_is_in_no_average() -> None:
    marks = dict.fromkeys(AIMED[:4], "?") | dict.fromkeys(FREE, ".")
    unscored = result_tables.suites("x", marked({"m": marks}))
    assert unscored[["first_n", "first_unscored"]].to_numpy().tolist() == [[0, 4]]
    assert unscored[[f"first_{name}" for name in ("share", "low", "high", "at_least")]].isna().all(axis=None)
    scored = result_tables.suites("y", marked({"m": always({"c0", "c1"})}))
    table = result_tables.stacked([unscored, scored], result_tables.CONTRAST_COLUMNS)
    (first, second) = averages({"table2": table}).to_dict("records")
    assert (first["benchmarks"], first["share"], first["at_least"]) == (1, 0.4, False)
    assert (second["benchmarks"], second["share"]) == (1, 0.0)


def test_a_share_has_the_exact_interval_of_what_was_judged() -> None:
    row = only(result_tables.shares([result_tables.share("x", "rules grounded", [True] * 8 + [None] * 2)]))
    assert (row["yes"], row["n"], row["unknown"], row["share"], row["high"]) == (8, 8, 2, 1, 1)
    assert row["low"] == pytest.approx(0.025 ** (1 / 8)), "at this share all eight would be right with chance 2.5%"
    nothing = result_tables.share("x", "rules grounded", [None])
    assert (nothing["share"], nothing["low"], nothing["high"]) == (None, 0, 1)


def test_without_tables_the_columns_stay() -> None:
    assert list(result_tables.stacked([], result_tables.CONTRAST_COLUMNS).columns) == list(
        result_tables.CONTRAST_COLUMNS
    )
    assert list(result_tables.failed([]).columns) == list(result_tables.FAILED_COLUMNS)
