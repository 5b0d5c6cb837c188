"""Rules that could not be looked at because another one is broken stand below that one's failure."""

from __future__ import annotations

from promptpex.core.records import Rule, Run
from promptpex.report import summarise
from promptpex.report.html_page import html
from promptpex.report.view_model import page
from tests.report.test_html_page import Reader
from tests.tables.by_hand import output, run, verdict

CLOSED = {"unscored": "after", "source": "none", "reason": "r1 is broken, and this rule can only be looked at where"}


def broken_json() -> Run:
    """r2 comes after r1 and r3 after r2; the output breaks r1 and r4."""
    rules = [Rule(id="r1", rule="JSON"), Rule(id="r2", rule="a key", after="r1"), Rule(id="r3", rule="x", after="r2")]
    verdicts = [
        verdict("fail", "r1", reason="text before the JSON"),
        verdict("unscored", "r2", **CLOSED),
        verdict("unscored", "r3", **CLOSED),
        verdict("fail", "r4", reason="too long"),
    ]
    return run([output()], verdicts, rules=(*rules, Rule(id="r4", rule="Short.")))


def test_one_cause_is_one_line() -> None:
    summary = summarise(broken_json())
    (answer,) = page(summary).cases[0].answers
    assert [one.rule for one in answer.verdicts] == ["r1", "r4"]
    assert answer.closed == {"r1": ("r2", "r3")}
    assert answer.letters == "fuuf"
    text = Reader(html(summary)).text
    assert "so it was not looked at by r2, r3" in text
    assert "can only be looked at" not in text


def test_rules_without_a_known_cause_stay() -> None:
    made = broken_json()
    rules = tuple(rule.replace(after=None) for rule in made.spec.rules)
    unknown = made.replace(spec=made.spec.replace(rules=rules))
    (answer,) = page(summarise(unknown)).cases[0].answers
    assert [one.rule for one in answer.verdicts] == ["r1", "r2", "r3", "r4"]
    ring = made.spec.rules[0].replace(after="r3")
    circle = made.replace(spec=made.spec.replace(rules=(ring, *made.spec.rules[1:])))
    assert page(summarise(circle)).cases[0].answers[0].closed == {"r1": ("r2", "r3")}
