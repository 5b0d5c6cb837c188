from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from promptpex.report import summarise
from promptpex.stats import clopper_pearson
from promptpex.tables import MODEL_COLUMNS, RULE_COLUMNS, models, outputs, rules, verdicts
from tests.tables.by_hand import colours, output, run, verdict


def of_model(name: str = "m", **made: Any) -> pd.Series[Any]:
    table = models(outputs(run(**made))).frame()
    return table[table["model"] == name].iloc[0]


@pytest.mark.parametrize("made", [run(), run([output()]), colours()], ids=["empty", "unjudged", "colours"])
def test_columns_and_dtypes_never_change(made: Any) -> None:
    by_model = models(outputs(made), order=["m", "other"])
    assert {name: str(kind) for name, kind in by_model.dtypes.items()} == dict(MODEL_COLUMNS)
    assert {name: str(kind) for name, kind in rules(verdicts(made)).dtypes.items()} == dict(RULE_COLUMNS)


def test_a_model_without_outputs_has_a_row_with_no_share() -> None:
    table = models(outputs(colours()), order=["b", "silent", "a"]).set_index("model")
    assert list(table.index) == ["b", "silent", "a"]
    silent = table.loc["silent"]
    assert (silent["outputs"], silent["scored"]) == (0, 0)
    unknown = ["non_compliance", "ci_low", "ci_high", "cost_usd", "latency_p50_ms", "tokens_in"]
    assert silent[unknown].isna().all()


def test_shares_are_of_the_scored_outputs_with_their_interval() -> None:
    table = models(outputs(colours())).set_index("model")
    counts = ["outputs", "scored", "non_compliant", "unscored", "errors"]
    assert list(table.loc["a", counts]) == [3, 3, 1, 0, 0]
    assert list(table.loc["b", counts]) == [4, 3, 3, 1, 1]
    interval = clopper_pearson(1, 3, 0.95)
    assert table.loc["a", "non_compliance"] == pytest.approx(1 / 3)
    assert table.loc["a", "ci_low"] == pytest.approx(interval.low)
    assert table.loc["a", "ci_high"] == pytest.approx(interval.high)
    wider = models(outputs(colours()), confidence=0.99)
    assert wider["ci_high"].iloc[0] > interval.high


def test_nothing_scored_is_no_share_rather_than_zero() -> None:
    row = of_model(outputs=[output()], verdicts=[verdict("unscored", unscored="judge-empty")])
    assert row["scored"] == 0
    assert row[["non_compliance", "ci_low", "ci_high"]].isna().all()


def test_an_unknown_price_stays_unknown() -> None:
    known = output(cost_usd=0.5, latency_ms=1.0)
    assert of_model(outputs=[known, output("c2", cost_usd=0.25, latency_ms=1.0)])["cost_usd"] == 0.75
    assert pd.isna(of_model(outputs=[known, output("c2", latency_ms=1.0)])["cost_usd"])
    assert of_model(outputs=[output(cost_usd=0.0, latency_ms=1.0)])["cost_usd"] == 0.0


def test_a_request_that_was_never_answered_leaves_the_price_known() -> None:
    refused = output("c2", text=None, error="rate-limited")
    assert of_model(outputs=[output(cost_usd=0.5, latency_ms=1.0), refused])["cost_usd"] == 0.5


def test_an_answer_without_a_latency_is_in_the_sums() -> None:
    timed = output(cost_usd=0.5, tokens_in=3, tokens_out=1, latency_ms=1.0)
    row = of_model(outputs=[timed, output("c2", cost_usd=0.25, tokens_in=4)])
    assert (row["cost_usd"], row["tokens_in"]) == (0.75, 7)
    assert pd.isna(row["tokens_out"])
    assert row["latency_p50_ms"] == 1.0


def test_latencies_are_quantiles_of_the_known_ones() -> None:
    made = [output(f"c{n}", latency_ms=float(n)) for n in range(1, 102)]
    row = of_model(outputs=[*made, output("c999", text=None, error="timed-out")])
    assert (row["latency_p50_ms"], row["latency_p95_ms"]) == (51.0, 96.0)


def test_rules_come_in_the_order_of_the_spec_over_verdicts_that_count() -> None:
    table = rules(verdicts(colours()), order=["r2", "r1"])
    rows = [tuple(row) for row in table[["rule", "model", "scored", "broken", "unscored"]].itertuples(index=False)]
    assert rows == [("r2", "b", 3, 3, 1), ("r1", "a", 3, 1, 0), ("r1", "b", 0, 0, 1)]
    assert table["share"].isna().tolist() == [False, False, True]


def test_rules_that_the_order_does_not_name_come_last() -> None:
    made = run([output()], [verdict("fail", "odd"), verdict("fail", "r1")])
    assert list(rules(verdicts(made), order=["r1"])["rule"]) == ["r1", "odd"]


def test_an_output_on_which_check_and_judge_both_count_is_one_output_of_its_rule() -> None:
    """A rule that checks decide in part has two verdicts that count: its counts are of outputs all the same."""
    pairs = [("pass", "pass"), ("fail", "fail"), ("pass", "fail"), ("pass", "unscored"), ("fail", "unscored")]
    judged = [
        one
        for n, (code, judge) in enumerate(pairs)
        for one in (
            verdict(code, "r1", f"c{n}"),
            verdict(judge, "r1", f"c{n}", source="judge:j", unscored="judge-empty" if judge == "unscored" else None),
        )
    ]
    made = run([output(f"c{n}") for n in range(len(pairs))], judged)
    (row,) = rules(verdicts(made)).to_dict("records")
    assert [row[name] for name in ("broken", "scored", "unscored")] == [3, 4, 1]
    (example,) = summarise(made).examples
    assert (example.broken, example.scored) == (3, 5)
