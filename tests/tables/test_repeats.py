from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.records import Output, Run, Verdict
from promptpex.stats import variance_split
from promptpex.tables import (
    FLAKY_COLUMNS,
    INCONSISTENT_COLUMNS,
    STABILITY_COLUMNS,
    flaky,
    inconsistent_verdicts,
    models,
    outputs,
    repeats,
    verdicts,
)
from tests.tables.by_hand import colours, output, run, verdict


def thrice() -> Run:
    """Three repeats: c1 passes all, c2 passes two, c3 passes one and has one unscored, c4 fails all."""
    marks_of = {"c1": "ppp", "c2": "ppf", "c3": "pfu", "c4": "fff"}
    words = {"p": "pass", "f": "fail", "u": "unscored"}
    made: list[Output] = []
    judged: list[Verdict] = []
    for case, marks in marks_of.items():
        for repeat, mark in enumerate(marks):
            lost: dict[str, Any] = {"text": None, "error": "truncated"} if mark == "u" else {}
            made.append(output(case, repeat=repeat, **lost))
            why: dict[str, Any] = {"unscored": "truncated", "source": "none"} if mark == "u" else {}
            judged.append(verdict(words[mark], case=case, repeat=repeat, **why))
    return run(made, judged)


def test_flip_rate_and_pass_hat_k_are_as_counted_by_hand() -> None:
    table = repeats(outputs(thrice()))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(STABILITY_COLUMNS)
    row = table.iloc[0]
    assert (row["repeats"], row["cases"], row["flaky"]) == (3, 4, 2)
    assert row["flip_rate"] == pytest.approx((0 + 2 / 3 + 1 + 0) / 4)
    assert row["pass_hat_k"] == pytest.approx((1 + 0 + 0) / 3)
    assert row["pass_at_k"] == pytest.approx((1 + 1 + 0) / 3)
    assert row["flip_low"] < row["flip_rate"] < row["flip_high"]
    of_model = models(outputs(thrice())).iloc[0]
    assert (of_model["repeats"], of_model["flaky"]) == (3, 2)
    assert of_model["flip_rate"] == row["flip_rate"]


def test_what_a_second_repeat_is_worth_is_counted_by_hand() -> None:
    """Two of four cases fail in all repeats and two in none: a repeat is worth nothing. Coins: as much as a case."""
    decided, coins = ([("pf"[n // 2] * 4) for n in range(4)], ["ppff"] * 4)
    of_decided, of_coins = (
        variance_split({n: (marks.count("p"), marks.count("f")) for n, marks in enumerate(some)})
        for some in (decided, coins)
    )
    assert of_decided is not None
    assert of_coins is not None
    assert (of_decided.within, of_decided.repeat_worth) == (0.0, 0.0)
    assert of_decided.between == pytest.approx(1 / 3)
    assert of_coins.between == 0.0
    assert of_coins.within == pytest.approx(1 / 3)
    assert of_coins.repeat_worth == pytest.approx(4)
    mixed = repeats(outputs(thrice())).iloc[0]
    assert 0 < mixed["repeat_worth"] < mixed["cases"]


def test_flaky_cases_come_least_decided_first() -> None:
    table = flaky(outputs(thrice()))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(FLAKY_COLUMNS)
    assert [tuple(row) for row in table[["case", "passed", "failed"]].itertuples(index=False)] == [
        ("c3", 1, 1),
        ("c2", 2, 1),
    ]


def test_one_repeat_says_nothing() -> None:
    assert repeats(outputs(colours())).empty
    assert flaky(outputs(colours())).empty
    assert models(outputs(colours()))["flip_rate"].isna().all()


def judged(status: str, case: str, **more: Any) -> Verdict:
    return verdict(status, case=case, source="judge:j", **more)


def test_the_same_text_with_two_verdicts_of_one_judge_is_found() -> None:
    made = [output("c1"), output("c2"), output("c3"), output("c4", text="BLUE")]
    by_judge = [judged("pass", "c1"), judged("pass", "c2"), judged("fail", "c3", counts=False), judged("fail", "c4")]
    table = inconsistent_verdicts(outputs(run(made, by_judge)), verdicts(run(made, by_judge)))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(INCONSISTENT_COLUMNS)
    assert table.to_dict("records") == [
        {"source": "judge:j", "rule": "r1", "output": "RED", "passed": 2, "failed": 1, "cases": "c1 c2 c3"}
    ]


def test_what_may_rightly_differ_is_no_twin() -> None:
    made = [output("c1"), output("c2")]
    checks = run(made, [verdict("pass"), verdict("fail", case="c2")])
    assert inconsistent_verdicts(outputs(checks), verdicts(checks)).empty
    two = run(made, [judged("pass", "c1"), verdict("fail", case="c2", source="judge:k")])
    assert inconsistent_verdicts(outputs(two), verdicts(two)).empty
    later = run(made, [judged("pass", "c1"), judged("fail", "c1", turn=1, counts=False)])
    assert inconsistent_verdicts(outputs(later), verdicts(later)).empty
    seeing = run(made, [judged("pass", "c1"), judged("fail", "c2")])
    assert inconsistent_verdicts(outputs(seeing), verdicts(seeing), hang_on_input={"r1"}).empty
    assert len(inconsistent_verdicts(outputs(seeing), verdicts(seeing), hang_on_input={"r2"})) == 1
    assert len(inconsistent_verdicts(outputs(seeing), verdicts(seeing))) == 1
