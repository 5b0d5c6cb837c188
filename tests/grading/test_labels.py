"""What people say of an output comes to a label by rules that can be chosen."""

from __future__ import annotations

import pytest

from promptpex.core.errors import SynthesisError
from promptpex.core.records import Example, Grade, InputCheck, Rule
from promptpex.grading.book import GradeBook, subjects_of
from promptpex.grading.labels import LabelRules, Vote, labelled, require_known_grader
from promptpex.stats import clopper_pearson
from promptpex.synthesis.choice.problem_of_folder import least_shown, shortages
from promptpex.synthesis.examples import examples_of
from tests.synthesis.labelled import grade, output, run_of

RULES = (Rule(id="r1", rule="One word."), Rule(id="r2", rule="A colour."))
LONG = Rule(id="r3", rule="Short.", when=(InputCheck(variable="thing", kind="word-count", value={"min": 9}),))
BY = LabelRules()


def on_rule(number: int, value: str, **more: object) -> Grade:
    rule = RULES[number]
    return grade(value, subject=rule.id, subject_text=rule.rule, **more)  # type: ignore[arg-type]


def item_of(one: Grade) -> Example:
    return Example(id=one.key, output="BLUE")


def labels(*grades: Grade, how: LabelRules = BY, rules: tuple[Rule, ...] = (*RULES, LONG)) -> list[tuple[object, str]]:
    book = GradeBook.of(grades, subjects_of(rules), how)
    blue = [item_of(grade) for grade in grades]
    return [(joint.label, joint.how) for joint in dict.fromkeys(book.joint(each) for each in blue)]


def test_the_whole_output_counts_before_its_rules() -> None:
    assert labels(grade("good"), on_rule(0, "bad")) == [("good", "ada")]
    assert labels(grade("unsure"), on_rule(0, "bad")) == [(None, "unsure: ada")]


@pytest.mark.parametrize(
    ("values", "every", "graded", "none"),
    [
        (("good", "good"), "good", "good", None),
        (("good",), None, "good", None),
        (("good", "bad"), "bad", "bad", "bad"),
        (("good", "unsure"), None, None, None),
        (("unsure", "bad"), "bad", "bad", "bad"),
    ],
)
def test_grades_on_rules_make_a_label(values: tuple[str, ...], every: object, graded: object, none: object) -> None:
    grades = [on_rule(number, value) for number, value in enumerate(values)]
    for rules, wanted in (("every", every), ("graded", graded), ("none", none)):
        assert labels(*grades, how=LabelRules(rules=rules))[0][0] == wanted  # type: ignore[arg-type]


def test_a_rule_that_was_reworded_or_is_gone_counts_no_more() -> None:
    reworded = (RULES[0].replace(rule="At most one word."), RULES[1])
    book = GradeBook.of([on_rule(0, "bad"), on_rule(1, "good")], subjects_of(reworded))
    blue = item_of(on_rule(0, "bad"))
    assert (book.joint(blue).votes, book.outdated, book.partial([blue])) == ((), 1, 1)
    assert labels(on_rule(0, "bad"), rules=()) == [(None, "")]


def test_of_one_person_the_latest_grade_counts_and_none_that_is_replaced() -> None:
    first = grade("bad", minute=1)
    assert labels(first, grade("good", minute=2)) == [("good", "ada")]
    assert labels(grade("good", minute=3), grade("bad", minute=2)) == [("good", "ada")]
    assert labels(first, grade("good", minute=0, replaces=first.id)) == [("good", "ada")]


@pytest.mark.parametrize(
    ("graders", "unsure", "label", "source"),
    [
        ("majority", "no-vote", "good", "2 of 3 graders"),
        ("majority", "bad", None, "the graders disagree: 2 good, 2 bad"),
        ("any-bad", "no-vote", "bad", "1 of 3 graders"),
        ("latest", "no-vote", "good", "2 of 3 graders"),
        ("latest", "bad", "bad", "2 of 4 graders"),
        ("bob", "no-vote", "bad", "bob"),
        ("dora", "no-vote", None, "unsure: dora"),
        ("dora", "bad", "bad", "dora"),
    ],
)
def test_graders_who_disagree(graders: str, unsure: str, label: object, source: str) -> None:
    grades = [
        grade("good", grader="ada", minute=1),
        grade("bad", grader="bob", minute=2),
        grade("good", grader="carl", minute=3),
        grade("unsure", grader="dora", minute=4),
    ]
    how = LabelRules(graders=graders, unsure=unsure)  # type: ignore[arg-type]
    assert labels(*grades, how=how) == [(label, source)]


def test_a_grader_who_gave_no_grade_is_named() -> None:
    graders = {"ada", "bob"}
    require_known_grader(LabelRules(graders="ada"), graders)
    require_known_grader(LabelRules(graders="latest"), ())
    with pytest.raises(SynthesisError, match="no grader is called 'adda'; did you mean 'ada'"):
        require_known_grader(LabelRules(graders="adda"), graders)
    with pytest.raises(SynthesisError, match="no grader is called 'xyz'; the graders are ada, bob; or give one of maj"):
        require_known_grader(LabelRules(graders="xyz"), graders)


def test_a_table_counts_before_grades_and_its_label_stays_when_it_is_gone() -> None:
    example = examples_of(run_of(output("c1", "BLUE"))).examples[0]
    bad, good = {example.id: [Vote("ada", "bad", 0.0)]}, {example.id: [Vote("line 2", "good", 0.0)]}
    by_grades = labelled([example], bad, {}, BY)
    assert [(one.label, one.label_from, one.from_table) for one in by_grades] == [("bad", "ada", False)]
    by_table = labelled(by_grades, bad, good, BY)
    assert [(one.label, one.label_from, one.from_table) for one in by_table] == [("good", "line 2", True)]
    assert labelled(by_table, bad, {}, BY) == by_table
    assert labelled(by_grades, {}, {}, BY)[0].label is None


def test_too_few_examples_are_those_whose_best_outcome_shows_nothing() -> None:
    few = shortages(12, 7, coverage=0.6, ffr=0.25)
    assert [(one.state, one.there, one.wanted) for one in few] == [("few-good", 12, 13), ("few-bad", 7, 8)]
    assert clopper_pearson(0, 12).high > 0.25 >= clopper_pearson(0, 13).high
    assert clopper_pearson(7, 7).low < 0.6 <= clopper_pearson(8, 8).low
    assert not shortages(13, 8, coverage=0.6, ffr=0.25)
    assert [one.state for one in shortages(0, 0, coverage=0.6, ffr=0.25)] == ["no-good", "no-bad"]
    assert shortages(1, 9, coverage=0.6, ffr=0.25)[0].sentence == (
        "1 good example shows little: label at least 13: if none of these is flagged, at most 25% of all good outputs "
        "are, by the exact 95% interval"
    )
    assert [least_shown(share) for share in (-1.0, 0.0, 0.95)] == [1, 1, 72]
    strict = shortages(71, 71, coverage=1.0, ffr=0.0)
    assert [one.wanted for one in strict] == [72, 72]
    assert "if all of these are caught, at least 95% of all bad outputs are" in strict[1].sentence
