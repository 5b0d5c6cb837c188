from __future__ import annotations

import datetime
import json
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Case, Verdict
from promptpex.tables import (
    OUTPUT_COLUMNS,
    VERDICT_COLUMNS,
    outputs,
    row_verdicts,
    rule_outcomes,
    verdicts,
)
from promptpex.tables.frames import SMALL, grouped, is_from, marked, numbered
from tests.tables.by_hand import colours, output, run, verdict

EMPTY = run()
UNJUDGED = run([output()])
FAILED = run([output(text=None, error="timed-out")], [verdict("unscored", unscored="timed-out", source="none")])


@pytest.mark.parametrize("made", [EMPTY, UNJUDGED, FAILED, colours()], ids=["empty", "unjudged", "failed", "colours"])
def test_columns_and_dtypes_never_change(made: Any) -> None:
    assert {name: str(kind) for name, kind in outputs(made).dtypes.items()} == dict(OUTPUT_COLUMNS)
    assert {name: str(kind) for name, kind in verdicts(made).dtypes.items()} == dict(VERDICT_COLUMNS)
    assert len(outputs(made)) == len(made.outputs)
    assert len(verdicts(made)) == len(made.verdicts)


def test_rows_stay_in_the_order_of_the_run() -> None:
    made = run([output("c3", "z"), output("c1", "a"), output("c2", "z", repeat=1), output("c2", "z")])
    assert list(zip(outputs(made)["case"], outputs(made)["repeat"], strict=True)) == [
        *(("c3", 0), ("c1", 0)),
        *(("c2", 1), ("c2", 0)),
    ]


def row(*judged: Verdict) -> dict[str, Any]:
    made = outputs(run([output()], judged))
    values = made[["verdict", "unscored", "broken_rules", "reasons"]].astype(object).where(made.notna(), None)
    return {str(name): value for name, value in values.iloc[0].items()}


def test_fail_goes_before_unscored_and_unscored_before_pass() -> None:
    open_ = verdict("unscored", "r2", unscored="judge-timed-out")
    assert row(verdict("pass"), open_)["verdict"] == "unscored"
    assert row(verdict("pass"), open_)["unscored"] == "judge-timed-out"
    failed = row(open_, verdict("fail", "r1", reason="two words"))
    assert (failed["verdict"], failed["unscored"]) == ("fail", None)
    assert (failed["broken_rules"], failed["reasons"]) == ("r1", "r1: two words")
    assert row(verdict("pass"), verdict("pass", "r2"))["verdict"] == "pass"


def test_verdicts_that_do_not_count_decide_nothing() -> None:
    beside = verdict("fail", "r1", counts=False, reason="the judge says")
    assert row(verdict("pass"), beside) == {
        "verdict": "pass",
        "unscored": None,
        "broken_rules": None,
        "reasons": None,
    }
    assert row(beside)["verdict"] == "unscored"
    assert row(beside)["unscored"] == "no-judge"


def test_an_output_without_any_verdict_says_why() -> None:
    made = outputs(run([output(), output("c2", text=None, error="rate-limited")]))
    assert list(made["verdict"]) == ["unscored", "unscored"]
    assert list(made["unscored"]) == ["no-judge", "rate-limited"]


def test_a_rule_broken_twice_is_named_once_with_both_reasons() -> None:
    cells = row(verdict("fail", reason="one"), verdict("fail", "r2"), verdict("fail", reason="two"))
    assert cells["broken_rules"] == "r1 r2"
    assert cells["reasons"] == "r1: one\nr2: \nr1: two"


def test_verdicts_stay_with_their_model_case_and_repeat() -> None:
    made = outputs(run([output(repeat=0), output(repeat=1), output(model="n")], [verdict("fail", repeat=1)]))
    assert list(made["verdict"]) == ["unscored", "fail", "unscored"]


def test_an_outcome_knows_the_aim_and_the_scenario_of_its_case() -> None:
    case = Case(id="c1", rule="r2", inverse=True, scenario="angry", inputs={})
    outcomes = rule_outcomes(verdicts(run(verdicts=[verdict("fail"), verdict(case="gone")], cases=(case,))))
    assert outcomes.iloc[0][["aim", "inverse", "scenario", "status"]].tolist() == ["r2", True, "angry", "fail"]
    assert outcomes.iloc[1][["aim", "inverse", "scenario"]].isna().all()


def test_row_verdicts_of_nothing_keep_their_columns() -> None:
    nothing = row_verdicts(verdicts(EMPTY))
    assert list(nothing.columns) == [
        "model",
        "case",
        "repeat",
        "verdict",
        "unscored",
        "asked",
        "broken_rules",
        "contradicted",
        "reasons",
    ]
    assert len(nothing) == 0


def test_a_case_that_the_suite_lost_leaves_its_cells_missing() -> None:
    made = run([output("gone")], [verdict(case="gone")])
    first = outputs(made).iloc[0]
    assert first[["rule", "inverse", "inputs"]].isna().all()
    assert verdicts(made)["aim"].isna().all()


def test_inputs_are_json_also_when_yaml_made_dates_of_them() -> None:
    case = Case(id="c1", inputs={"day": datetime.date(2026, 1, 2), "who": "Nguyễn"})
    inputs = outputs(run([output()], cases=(case,)))["inputs"][0]
    assert json.loads(inputs) == {"day": "2026-01-02", "who": "Nguyễn"}
    assert "Nguyễn" in inputs


def test_a_mark_is_asked_for_once_for_each_text_and_never_where_it_is_missing() -> None:
    asked: list[str] = []

    def long(text: str) -> bool:
        asked.append(text)
        return len(text) > 1

    texts = pd.Series(pd.array(["a", None, "ab", "a", "ab", None, "a\x00"], dtype="string"), index=range(7, 0, -1))
    assert marked(texts, long).tolist() == [False, False, True, False, True, False, True]
    assert asked == ["a", "ab", "a\x00"]
    assert marked(texts[texts.isna()], long).tolist() == [False, False]
    assert marked(texts[:0], long).tolist() == []


def test_sources_are_marked_row_by_row_under_the_same_index() -> None:
    judged = [verdict(source=source) for source in ("check:x", "judge:j", "judges:majority", "none", "judge:")]
    cube = verdicts(run([output()], judged))[1:]
    assert is_from(cube, "judge").to_dict() == {1: True, 2: False, 3: False, 4: True}
    assert not is_from(verdicts(EMPTY), "judge").any()


def test_texts_are_those_of_python_whatever_else_is_installed() -> None:
    made = run([output(text="a\ud800b")], [verdict("fail", reason="\ud83d")])
    texts = [*outputs(made).dtypes, *verdicts(made).dtypes]
    assert {kind.storage for kind in texts if isinstance(kind, pd.StringDtype)} == {"python"}
    assert outputs(made)["output"].tolist() == ["a\ud800b"]


TEXTS = st.sampled_from(["a", "b", "", "0", "\ud800", None])
NUMBERS = st.sampled_from([0, 1, -1, 2**40, None])
COLUMNS_OF_VALUES = st.one_of(
    st.lists(TEXTS).map(lambda values: pd.array(values, dtype=pd.StringDtype("python"))),
    st.lists(NUMBERS).map(lambda values: pd.array(values, dtype="Int64")),
    st.lists(st.sampled_from([0.0, 0.5, float("nan")])).map(lambda values: pd.Series(values, dtype="float64")),
)


@given(COLUMNS_OF_VALUES, st.booleans())
def test_small_columns_are_numbered_as_pandas_does(column: Any, many: bool) -> None:
    column = column.repeat(SMALL if many else 1)
    codes, known = numbered(column)
    expected, values = pd.factorize(column)
    assert codes.dtype == "int64"
    assert codes.tolist() == expected.tolist()
    assert known == list(values)


@given(st.lists(st.tuples(TEXTS, NUMBERS), min_size=1), st.sampled_from([1, SMALL]))
def test_rows_that_are_equal_are_one_group_in_the_order_of_their_first(rows: list[Any], times: int) -> None:
    data = {
        "text": pd.array([text for text, _ in rows] * times, dtype=pd.StringDtype("python")),
        "number": pd.array([number for _, number in rows] * times, dtype="Int64"),
    }
    first: dict[Any, int] = {}
    assert grouped(data, ["text", "number"]).tolist() == [first.setdefault(row, len(first)) for row in rows] * times
