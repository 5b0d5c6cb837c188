from __future__ import annotations

import json

from promptpex.report import summarise, to_dict
from tests.tables.by_hand import colours, output, run, verdict


def test_the_most_broken_rules_come_first_with_an_example() -> None:
    summary = summarise(colours())
    assert [(one.rule, one.broken, one.scored) for one in summary.examples] == [("r2", 3, 3), ("r1", 1, 3)]
    first = summary.examples[0]
    assert (first.model, first.case, first.output, first.reason) == ("b", "c1", "RED", "no colour")
    assert json.loads(first.inputs) == {"thing": "t1", "place": "here"}
    assert len(summarise(colours(), most=1).examples) == 1


def test_an_example_is_a_verdict_that_counts_and_the_first_of_them() -> None:
    beside = verdict("fail", reason="the judge says", counts=False, source="judge:j")
    judged = [beside, *(verdict("fail", case=f"c{n}", reason=f"words {n}") for n in (2, 1))]
    example = summarise(run([output("c1"), output("c2", text="BLUE")], judged)).examples[0]
    assert (example.case, example.output, example.reason) == ("c2", "BLUE", "words 2")


def test_an_example_survives_the_loss_of_its_output_or_case() -> None:
    lost = summarise(run([], [verdict("fail", reason="two words")])).examples[0]
    assert (lost.output, lost.inputs, lost.reason) == ("", "", "two words")
    moved = summarise(run([output("gone")], [verdict("fail", case="gone")])).examples[0]
    assert (moved.output, moved.inputs) == ("RED", "")


def test_reasons_of_unscored_outputs_are_counted_per_model() -> None:
    made = run([output(), output("c2", text=None, error="timed-out"), output("c3", text=None, error="timed-out")])
    assert summarise(made).gaps.unscored == {"m": {"timed-out": 2, "no-judge": 1}}


def test_rules_that_nothing_judged_are_named_once() -> None:
    nobody = [verdict("unscored", "r2", f"c{n}", unscored="no-judge", counts=False, source="none") for n in (1, 2)]
    assert summarise(run([output(), output("c2")], [verdict(), *nobody])).gaps.unjudged_rules == ("r2",)


def test_the_summary_for_machines_is_json_with_nulls_for_what_is_unknown() -> None:
    data = json.loads(json.dumps(to_dict(summarise(colours())), allow_nan=False))
    assert [row["model"] for row in data["models"]] == ["a", "b"]
    assert data["models"][1]["cost_usd"] is None
    assert {"run", "prompt", "rules", "unscored", "unjudged_rules", "partial"} <= set(data)
    assert json.loads(json.dumps(to_dict(summarise(run()))))["rules"] == []
