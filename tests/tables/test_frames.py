from __future__ import annotations

import datetime
import json
from typing import Any

import pandas as pd
import pytest

from promptpex.core.records import Case, Verdict
from promptpex.tables import (
    OUTPUT_COLUMNS,
    VERDICT_COLUMNS,
    outputs,
    verdicts,
)
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


def test_texts_are_those_of_python_whatever_else_is_installed() -> None:
    made = run([output(text="a\ud800b")], [verdict("fail", reason="\ud83d")])
    texts = [*outputs(made).dtypes, *verdicts(made).dtypes]
    assert {kind.storage for kind in texts if isinstance(kind, pd.StringDtype)} == {"python"}
    assert outputs(made)["output"].tolist() == ["a\ud800b"]
