"""How the judges fared: requests counted once each, failures told from what was never asked."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Verdict
from promptpex.tables import JUDGE_COLUMNS, judges, verdicts
from tests.tables.by_hand import colours, run, verdict


def judge_verdict(
    status: str, rule: str = "r1", case: str = "c1", by: str = "j", *, why: str = "judge-malformed", **more: Any
) -> Verdict:
    failure = {"unscored": why, "reason": f"{by} on {case}: {why}"} if status == "unscored" else {}
    return verdict(status, rule, case, source=f"judge:{by}", **failure, **more)


def table(*judged: Verdict) -> list[dict[str, Any]]:
    frame = judges(verdicts(run(verdicts=judged)))
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


@pytest.mark.parametrize("made", [run(), colours()], ids=["no judge", "colours"])
def test_columns_and_dtypes_never_change(made: Any) -> None:
    assert {name: str(kind) for name, kind in judges(verdicts(made)).dtypes.items()} == dict(JUDGE_COLUMNS)


def test_a_request_counts_once_however_many_rules_it_is_about() -> None:
    (row,) = table(*(judge_verdict("pass", rule, case) for case in ("c1", "c2") for rule in ("r1", "r2", "r3")))
    assert (row["asked"], row["failed"], row["not_asked"], row["failed_share"]) == (2, 0, 0, 0.0)
    assert pd.isna(row["reasons"])
    assert pd.isna(row["example"])


def test_each_turn_is_a_request_of_its_own() -> None:
    (row,) = table(
        judge_verdict("pass"),
        judge_verdict("unscored", turn=1, counts=False),
        judge_verdict("fail", turn=2, counts=False),
    )
    assert (row["asked"], row["failed"]) == (3, 1)


def test_a_failure_is_reported_with_its_reasons_and_the_first_sentence() -> None:
    lost = [judge_verdict("unscored", rule, f"c{n}") for n in (1, 2, 3) for rule in ("r1", "r2")]
    late = [judge_verdict("unscored", rule, "c4", why="judge-timed-out") for rule in ("r1", "r2")]
    (row,) = table(*late, *lost, judge_verdict("pass", "r1", "c5"), judge_verdict("fail", "r2", "c5"))
    assert (row["judge"], row["asked"], row["failed"], row["failed_share"]) == ("j", 5, 4, 0.8)
    assert row["reasons"] == "3 judge-malformed, 1 judge-timed-out"
    assert row["example"] == "j on c4: judge-timed-out"


@pytest.mark.parametrize("why", ["judge-budget", "judge-deadline", "judge-interrupted"])
def test_what_the_end_of_the_run_cut_off_is_no_failure_of_the_judge(why: str) -> None:
    (row,) = table(
        judge_verdict("unscored", why=why), judge_verdict("unscored", "r2", why=why), judge_verdict("pass", case="c2")
    )
    assert (row["asked"], row["failed"], row["not_asked"], row["failed_share"]) == (1, 0, 1, 0.0)
    (never,) = table(judge_verdict("unscored", why=why))
    assert (never["asked"], never["not_asked"]) == (0, 1)
    assert pd.isna(never["failed_share"])


def test_each_judge_has_its_row_and_what_they_say_together_has_none() -> None:
    together = verdict("unscored", source="judges:majority", unscored="judge-malformed")
    rows = table(judge_verdict("pass", by="b"), judge_verdict("unscored", by="a"), together, verdict("pass"))
    assert [(row["judge"], row["asked"], row["failed"]) for row in rows] == [("b", 1, 0), ("a", 1, 1)]


REQUEST = st.tuples(st.sampled_from("ab"), st.sampled_from(["c1", "c2"]), st.integers(0, 1), st.integers(0, 1))
ANSWER = st.sampled_from(["pass", "fail", "judge-malformed", "judge-empty", "judge-budget"])


@given(st.dictionaries(REQUEST, ANSWER), st.integers(1, 3))
def test_every_request_is_counted_in_one_place(drawn: dict[tuple[str, str, int, int], str], rules: int) -> None:
    judged = [
        judge_verdict("unscored", f"r{n}", case, by, why=answer, repeat=repeat, turn=turn)
        if answer.startswith("judge-")
        else judge_verdict(answer, f"r{n}", case, by, repeat=repeat, turn=turn)
        for (by, case, repeat, turn), answer in drawn.items()
        for n in range(rules)
    ]
    rows = {row["judge"]: row for row in table(*judged)}
    for by in {key[0] for key in drawn}:
        answers = [answer for key, answer in drawn.items() if key[0] == by]
        failed = sum(answer in ("judge-malformed", "judge-empty") for answer in answers)
        assert rows[by]["not_asked"] == answers.count("judge-budget")
        assert (rows[by]["asked"], rows[by]["failed"]) == (len(answers) - answers.count("judge-budget"), failed)
    assert set(rows) == {key[0] for key in drawn}
