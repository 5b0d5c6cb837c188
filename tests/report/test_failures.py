"""Examples of failures: one for each reason, and not the same output again and again."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.core.records import Run
from promptpex.report import summarise
from promptpex.report.failures import FailureExample
from promptpex.report.html_page import html
from tests.report.test_html_page import Reader
from tests.tables.by_hand import output, run, verdict


def examples(made: Run) -> Sequence[FailureExample]:
    return summarise(made).examples


def broken(*reasons: str, rules: Sequence[str] = ("r1",), models: Sequence[str] = ("m",)) -> Run:
    """A case for each reason; the models take turns."""
    chosen = [(f"c{n}", models[n % len(models)], reason) for n, reason in enumerate(reasons)]
    return run(
        [output(case, model) for case, model, _ in chosen],
        [verdict("fail", rule, case, model, reason=reason) for case, model, reason in chosen for rule in rules],
        models=tuple(models),
    )


def test_each_reason_has_an_example_the_most_frequent_first() -> None:
    fences = ["in a code fence"] * 2
    chatter = [f"text before the JSON: 'Sure {n}'" for n in range(3)]
    (rule,) = examples(broken("cut off", *fences, *chatter, "empty"))
    assert [(one.case, one.reason, one.alike) for one in rule.failures] == [
        ("c3", "text before the JSON: 'Sure 0'", 3),
        ("c1", "in a code fence", 2),
        ("c0", "cut off", 1),
    ]
    assert (rule.broken, rule.case, rule.reason) == (7, "c3", "text before the JSON: 'Sure 0'")


def test_an_output_that_breaks_this_rule_alone_is_preferred_to_one_that_breaks_all() -> None:
    made = broken("no JSON", "no JSON", rules=("r1", "r2"))
    alone = [verdict("fail", rule, case, reason="no JSON") for rule, case in (("r1", "c8"), ("r2", "c9"))]
    more = made.replace(outputs=(*made.outputs, output("c8"), output("c9")), verdicts=(*made.verdicts, *alone))
    assert [(one.rule, one.case) for one in examples(more)] == [("r1", "c8"), ("r2", "c9")]


def test_one_output_is_not_shown_for_every_rule_where_others_fail_too() -> None:
    assert [one.case for one in examples(broken("no JSON", "no JSON", rules=("r1", "r2")))] == ["c0", "c1"]
    assert [one.case for one in examples(broken("no JSON", rules=("r1", "r2")))] == ["c0", "c0"]


def test_models_take_turns_among_the_examples_of_a_rule() -> None:
    made = broken("two words", "a number", "two words", "a number", models=("a", "a", "b", "b"))
    (rule,) = examples(made)
    assert [one.model for one in rule.failures] == ["a", "b"]


def test_the_page_says_how_many_are_alike() -> None:
    text = Reader(html(summarise(broken("in a code fence", "in a code fence", "cut off")))).text
    assert "2 outputs such as this: m, case c0" in text
    assert "such as this" not in Reader(html(summarise(broken("cut off", "cut off")))).text
