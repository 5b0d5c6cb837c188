from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from promptpex.stats.tango_interval import tango_interval
from promptpex.tables import CHANGED_COLUMNS, COMPARISON_COLUMNS, changed, comparison, outputs
from tests.stats.oracles import mcnemar_p
from tests.tables.many import many
from tests.work import calls

SAME = [("a", "a"), ("b", "b")]
CASES = [f"c{n}" for n in range(40)]


def test_each_model_is_compared_on_common_cases_and_corrected_for_all() -> None:
    before = outputs(many(40, {"a": lambda n: n >= 2, "b": lambda n: None if n == 0 else n % 2 == 0}))
    after = outputs(many(40, {"a": lambda n: n >= 14, "b": lambda n: n % 2 == 0}))
    table = comparison(before, after, models=SAME, cases=CASES)
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(COMPARISON_COLUMNS)
    a, b = table.iloc[0], table.iloc[1]
    assert tuple(a[["cases", "before", "after", "newly_failing", "fixed", "decision"]]) == (40, 2, 14, 12, 0, "worse")
    assert tuple(b[["cases", "before", "after", "newly_failing", "fixed", "decision"]]) == (
        40,
        20,
        20,
        0,
        0,
        "undecided",
    )
    assert (a["p"], a["p_adjusted"]) == pytest.approx((mcnemar_p(0, 12), 2 * mcnemar_p(0, 12)))
    assert a["difference"] == pytest.approx(0.3)
    assert a["difference_high"] == pytest.approx(-tango_interval(0, 12, 40, 0.975, df=39).low)


def test_a_change_for_the_better_is_no_regression_and_few_are_undecided() -> None:
    worse, better = outputs(many(40, {"a": lambda n: n >= 12})), outputs(many(40, {"a": lambda n: True}))
    one = [("a", "a")]
    assert comparison(worse, better, models=one, cases=CASES)["decision"].tolist() == ["better"]
    few = comparison(better, outputs(many(40, {"a": lambda n: n >= 3})), models=one, cases=CASES)
    assert few["decision"].tolist() == ["undecided"]
    assert few["within_tolerance"].isna().all()
    wide = comparison(better, better, models=one, cases=CASES, tolerance=0.2)
    assert wide["within_tolerance"].tolist() == [True]


def test_only_the_cases_named_count() -> None:
    before, after = outputs(many(40, {"a": lambda n: True})), outputs(many(40, {"a": lambda n: n > 20}))
    assert comparison(before, after, models=[("a", "a")], cases=["c1", "c30"])["cases"].tolist() == [2]


def test_changed_cases_come_with_what_they_break() -> None:
    before = outputs(many(4, {"old": lambda n: n != 2}, repeats=2))
    after = outputs(many(4, {"new": lambda n: n != 1}, repeats=2))
    table = changed(before, after, models=[("old", "new")], cases=CASES)
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(CHANGED_COLUMNS)
    assert table.to_dict("records") == [
        {
            "model": "old -> new",
            "case": "c1",
            "change": "newly failing",
            "before": "2 of 2",
            "after": "0 of 2",
            "broken_rules": "r1",
            "output": "new 1 fail",
        },
        {
            "model": "old -> new",
            "case": "c2",
            "change": "fixed",
            "before": "0 of 2",
            "after": "2 of 2",
            "broken_rules": "r1",
            "output": "old 2 fail",
        },
    ]


def test_nothing_in_common_is_no_difference() -> None:
    before = outputs(many(2, {"a": lambda n: True}, asked=lambda model, n: n == 1))
    after = outputs(many(2, {"a": lambda n: True}))
    row = comparison(before, after, models=[("a", "a")], cases=["c0"]).iloc[0]
    assert (row["cases"], row["decision"]) == (0, "undecided")
    assert row[["difference", "non_compliance_before", "p", "p_adjusted"]].isna().all()


def test_without_a_verdict_the_difference_is_all_that_it_may_be() -> None:
    before = outputs(many(40, {"a": lambda n: True}))

    def difference(lost: bool | None) -> dict[str, Any]:
        after = outputs(many(40, {"a": lambda n: lost if n < 3 else n > 9}))
        (row,) = comparison(before, after, models=[("a", "a")], cases=CASES).to_dict("records")
        return {name: row[f"difference{name}"] for name in ("", "_low", "_high")}

    unknown = difference(None)
    assert pd.isna(unknown[""])
    assert (unknown["_low"], unknown["_high"]) == (difference(True)["_low"], difference(False)["_high"])


def test_a_changed_case_takes_no_search_through_all_outputs() -> None:
    def work(count: int) -> int:
        before, after = outputs(many(count, {"a": lambda n: True})), outputs(many(count, {"a": lambda n: False}))
        named = [f"c{n}" for n in range(count)]
        return calls(lambda: changed(before, after, models=[("a", "a")], cases=named))

    work(1)
    assert work(120) - work(20) < 100 * 200
