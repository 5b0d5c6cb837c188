"""What several grades on a thing come to, what follows from them, and what counts no more."""

from __future__ import annotations

import pytest

from promptpex.core.records import Criterion, Example, Grade, InputCheck
from promptpex.grading.book import WHOLE, GradeBook, GradeCounts, Joint, PersonPair, Subject, subjects_of
from promptpex.grading.labels import LabelRules
from tests.grading.graded_project import RULES, item, items

SUBJECTS = subjects_of(RULES)
SKY, GRASS, SEA, NIGHT = items()


def grade(
    one: Example,
    value: str,
    subject: str = "output",
    *,
    who: str = "ada",
    minute: int = 0,
    text: str = "",
    **more: object,
) -> Grade:
    words = text or next(each.text for each in SUBJECTS if each.id == subject)
    return Grade.of(
        inputs=one.inputs,
        output=one.output,
        subject=subject,
        subject_text=words,
        grader=who,
        value=value,
        time=f"2026-03-01T09:{minute:02}:00+00:00",
        case=one.case,
        model=one.model,
        **more,
    )


def book(*grades: Grade, how: LabelRules | None = None, subjects: tuple[Subject, ...] = SUBJECTS) -> GradeBook:
    return GradeBook.of(grades, subjects, how)


def test_a_grade_holds_for_the_same_text_only_where_the_output_alone_decides() -> None:
    graded = book(grade(SKY, "bad", "r1"), grade(SKY, "good", "r2"))
    assert graded.joint(SEA, "r1").label == "bad"
    assert not graded.joint(SEA, "r2").graded
    assert not graded.joint(GRASS, "r1").graded
    assert graded.joint(SEA).label == "bad", "a rule that it breaks makes the whole bad, whatever the input"


def test_having_grades_names_every_item_with_a_joint_that_is_not_empty() -> None:
    graded = book(grade(SKY, "bad", "r1"))
    assert graded.having_grades(items()) == [SKY, SEA], "the same text, which the rule is about"
    assert (len(graded.given_on(SKY)), graded.given_on(SEA)) == (1, ())
    assert all(graded.joint(item, one.id) == Joint(None, False) for item in (GRASS, NIGHT) for one in SUBJECTS)
    more = graded.adding(grade(NIGHT, "good"))
    assert more.having_grades(items()) == [SKY, SEA, NIGHT]
    assert more.joint(NIGHT, "r2").derived


def test_a_good_output_is_good_on_every_rule_and_a_bad_one_says_nothing_of_one() -> None:
    good = book(grade(SKY, "good")).joint(SKY, "r2")
    assert (good.label, good.graded, good.derived) == ("good", True, True)
    assert book(grade(SKY, "good")).joint(SEA, "r1").derived
    assert not book(grade(SKY, "good")).joint(SEA, "r2").graded
    assert not book(grade(SKY, "bad")).joint(SKY, "r2").graded
    assert not book(grade(SKY, "unsure")).joint(SKY, "r2").graded
    own = book(grade(SKY, "good", minute=5), grade(SKY, "bad", "r2")).joint(SKY, "r2")
    assert (own.label, own.derived) == ("bad", False), "a grade on the rule itself counts before what follows"


def test_what_follows_from_a_good_grade_follows_where_the_whole_is_good_by_all_grades() -> None:
    disputed = book(grade(SKY, "good"), grade(SKY, "bad", who="bob")).joint(SKY, "r2")
    assert (disputed.label, disputed.graded, disputed.how) == (None, True, "the graders disagree on the whole output")
    assert book(grade(SKY, "good"), grade(SKY, "bad", who="bob")).counts("r2", [SKY]) == GradeCounts(disagree=1)
    outvoted = book(grade(SKY, "good"), grade(SKY, "bad", who="bob"), grade(SKY, "bad", who="cleo"))
    assert [outvoted.joint(SKY, rule).graded for rule in ("r1", "r2")] == [False, False]
    assert not outvoted.joint(SEA, "r1").graded, "the same text, by a rule that the output alone decides"
    elsewhere = outvoted.adding(grade(SEA, "good"))
    assert elsewhere.joint(SKY, "r1").label == "good", "the text is good with other inputs"
    assert not elsewhere.joint(SKY, "r2").graded
    own = outvoted.adding(grade(SKY, "good", "r2", who="bob"))
    assert own.joint(SKY, "r2").label == "good"
    assert outvoted.adding(grade(SKY, "good", who="dora")).joint(SKY, "r2").label is None


def test_what_follows_is_what_the_one_who_decides_says_of_the_whole() -> None:
    how = LabelRules("adjudicated:dora")
    graded = book(grade(SKY, "good"), grade(SKY, "bad", who="bob"), how=how)
    assert graded.joint(SKY, "r2").label is None
    assert graded.adding(grade(SKY, "good", who="dora")).joint(SKY, "r2").label == "good"
    assert not graded.adding(grade(SKY, "bad", who="dora")).joint(SKY, "r2").graded


def test_a_grade_under_older_words_is_stale_and_does_not_count() -> None:
    old = grade(SKY, "bad", "r2", text="The output is a colour.")
    joint = book(old).joint(SKY, "r2")
    assert (joint.label, joint.graded, joint.stale) == (None, False, (old,))
    assert not book(old).joint(SKY).graded
    assert book(old).has_stale
    renewed = book(old, grade(SKY, "good", "r2", minute=1))
    assert (renewed.joint(SKY, "r2").label, renewed.joint(SKY, "r2").stale) == ("good", ())
    others = book(old, grade(SKY, "good", "r2", who="bob"))
    assert others.joint(SKY, "r2").stale == (old,), "ada's is stale whatever bob says"
    back = Subject("r2", "The output is a colour.")
    assert book(old, subjects=(WHOLE, back)).joint(SKY, "r2").label == "bad", "the old words are back"


def test_grades_on_rules_that_are_gone_are_no_obstacle() -> None:
    gone = book(grade(SKY, "bad", "r2"), subjects=(WHOLE, SUBJECTS[1]))
    assert not gone.joint(SKY).graded
    assert not gone.has_stale


@pytest.mark.parametrize(
    ("graders", "label", "how"),
    [
        ("majority", "good", "2 of 3 graders"),
        ("any-bad", "bad", "1 of 3 graders"),
        ("latest", "bad", "1 of 3 graders"),
        ("bob", "good", "bob"),
        ("adjudicated:cleo", "bad", "1 of 3 graders"),
        ("adjudicated:dora", None, "dora has to decide: 2 good, 1 bad"),
    ],
)
def test_ways_to_settle_what_graders_differ_about(graders: str, label: object, how: str) -> None:
    grades = [grade(SKY, "good"), grade(SKY, "good", who="bob", minute=1), grade(SKY, "bad", who="cleo", minute=2)]
    joint = book(*grades, how=LabelRules(graders)).joint(SKY)
    assert (joint.label, joint.how, joint.disputed) == (label, how, True)


def test_where_the_others_agree_nobody_has_to_decide() -> None:
    both = [grade(SKY, "bad"), grade(SKY, "bad", who="bob")]
    rules = LabelRules("adjudicated:dora")
    assert book(*both, how=rules).joint(SKY).label == "bad"
    assert book(*both, grade(SKY, "good", who="dora"), how=rules).joint(SKY).label == "good"
    assert rules.sentence().startswith("where graders differ, dora decides; ")


def test_accurate_graders_outweigh_several_that_guess() -> None:
    texts = {f"thing {number}": f"colour {number}" for number in range(40)}
    pool = items(texts)
    grades = []
    for number, one in enumerate(pool[1:]):
        truth = "good" if number % 2 else "bad"
        wrong = "bad" if number % 2 else "good"
        grades += [grade(one, truth, who=name) for name in ("ada", "bob", "cleo")]
        grades += [grade(one, truth if number % 4 < 2 else wrong, who="dora")]
        grades += [grade(one, wrong if number % 5 == 0 else truth, who="emil")]
    disputed = [
        grade(pool[0], "bad", who="ada"),
        grade(pool[0], "good", who="dora"),
        grade(pool[0], "good", who="emil"),
    ]
    weighed = book(*grades, *disputed, how=LabelRules("accuracy"))
    assert weighed.accuracies["ada"] > weighed.accuracies["emil"] > weighed.accuracies["dora"] >= 0.5
    assert weighed.joint(pool[0]).label == "bad"
    assert book(*grades, *disputed).joint(pool[0]).label == "good"


def test_unsure_is_graded_and_in_no_label() -> None:
    joint = book(grade(SKY, "unsure")).joint(SKY)
    assert (joint.label, joint.graded, joint.how) == (None, True, "unsure: ada")
    counts = book(grade(SKY, "unsure"), grade(SEA, "good"), grade(SEA, "bad", who="bob")).counts("output", items())
    assert counts == GradeCounts(unsure=1, disagree=1, ungraded=2)
    by_rule = book(grade(SKY, "bad", "r1"), grade(GRASS, "good")).counts("r1", items())
    assert by_rule == GradeCounts(good=1, bad=2, ungraded=1, derived=1)


def test_only_the_grader_who_counts_makes_an_item_graded() -> None:
    joint = book(grade(SKY, "good"), how=LabelRules("bob")).joint(SKY)
    assert (joint.label, joint.graded, len(joint.votes)) == (None, False, 1)


def test_what_any_two_graders_say_of_the_same() -> None:
    grades = [
        *(grade(one, value) for one, value in zip(items(), ("good", "bad", "good", "bad"), strict=True)),
        *(grade(one, value, who="bob") for one, value in zip(items(), ("good", "good", "unsure", "bad"), strict=True)),
        grade(SKY, "bad", who="cleo"),
    ]
    assert book(*grades).person_pairs("output", items()) == (
        PersonPair("ada", "bob", ((1, 0), (1, 1)), 1),
        PersonPair("ada", "cleo", ((0, 1), (0, 0)), 0),
        PersonPair("bob", "cleo", ((0, 1), (0, 0)), 0),
    )
    same_text = book(grade(SKY, "good", "r1"), grade(SEA, "bad", "r1", who="bob"))
    assert same_text.person_pairs("r1", items()) == (PersonPair("ada", "bob", ((0, 1), (0, 0)), 0),)
    assert same_text.person_pairs("r2", items()) == ()


def test_a_further_grade_makes_the_book_that_all_grades_make() -> None:
    first = grade(SKY, "bad", "r1")
    second = grade(SKY, "good", "r1", minute=1, replaces=first.id)
    third = second.instead_of(second, withdrawn=True, time="2026-03-01T09:02:00+00:00")
    grades = [first, grade(SEA, "good"), second, third, grade(SEA, "unsure", who="bob")]
    for how in (LabelRules(), LabelRules("accuracy")):
        grown = book(how=how)
        for number, one in enumerate(grades, 1):
            grown = grown.adding(one)
            whole = book(*grades[:number], how=how)
            for each in items():
                for subject in SUBJECTS:
                    assert grown.joint(each, subject.id) == whole.joint(each, subject.id)
            assert (grown.graders, grown.grades) == (whole.graders, whole.grades)


def test_a_criterion_in_the_words_of_a_rule_is_that_rule() -> None:
    same = Criterion(id="a1", text=RULES[0].rule, rule="r1")
    other = Criterion(id="a2", text="At most one word.", rule="r1")
    stale = RULES[1].replace(stale=True)
    conditional = RULES[0].replace(id="r3", when=(InputCheck(variable="thing", kind="contains", value="s"),))
    subjects = subjects_of((RULES[0], stale, conditional), (same, other))
    assert [(one.id, one.kind, one.required, one.asked) for one in subjects] == [
        ("output", "output", False, True),
        ("r1", "rule", True, True),
        ("r2", "rule", False, False),
        ("r3", "rule", False, True),
        ("a2", "criterion", False, True),
    ]
    assert [one.required for one in subjects_of((), (same, other))] == [False, True, True]


def test_outputs_with_halves_of_characters_are_graded_too() -> None:
    odd = item("sky", "bl\ud800ue")
    assert book(grade(odd, "bad")).joint(odd).label == "bad"
