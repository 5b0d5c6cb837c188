"""The report card against counting by hand: labels, rules, the whole run, people, the random sample."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.alignment.card import CardData, card
from promptpex.alignment.graded_outputs import GradedItems, with_labels
from promptpex.core.records import CardRow, Example, Grade, ReportCard, output_key
from promptpex.grading.book import WHOLE, GradeBook, Subject
from promptpex.grading.next_item import Opinion

RULE = Subject("r1", "It is calm.", "input")
N = 10
GIVEN = st.lists(st.sampled_from("gbu-"), min_size=N, max_size=N)
SIGNS = st.lists(st.sampled_from("pfn-"), min_size=N, max_size=N)
VALUES = {"g": "good", "b": "bad", "u": "unsure"}
STATUS: dict[str, Literal["pass", "fail", "none"]] = {"p": "pass", "f": "fail", "n": "none"}


def item(number: int) -> Example:
    inputs = {"n": number}
    text = f"text {number}"
    return Example(id=output_key(inputs, text), inputs=inputs, output=text, case=f"c{number // 2}", model="m")


ITEMS = tuple(map(item, range(N)))


def grades(signs: list[str], grader: str, subject: Subject = WHOLE) -> list[Grade]:
    return [
        Grade.of(
            inputs=one.inputs,
            output=one.output,
            subject=subject.id,
            subject_text=subject.text,
            time="2026-03-01T09:00:00+00:00",
            grader=grader,
            case=one.case,
            model="m",
            value=VALUES[sign],
        )
        for one, sign in zip(ITEMS, signs, strict=True)
        if sign in VALUES
    ]


def made(given: list[Grade], verdicts_of_judge: list[str], broken: list[str]) -> ReportCard:
    book = GradeBook.of(given, (WHOLE, RULE))
    opinions = {
        one.id: (Opinion("r1 judge:gpt", "r1", "judge", "gpt", STATUS[sign]),) if sign in STATUS else ()
        for one, sign in zip(ITEMS, verdicts_of_judge, strict=True)
    }
    fails = {one.id: sign == "f" for one, sign in zip(ITEMS, broken, strict=True) if sign in "pf"}
    return card(CardData("p", ("r",), GradedItems(with_labels(ITEMS, book), book), opinions, fails))


def row(made_card: ReportCard, kind: str) -> CardRow | None:
    return next((one for one in made_card.rows if one.kind == kind), None)


def majority(*signs: str) -> str | None:
    tally = Counter(sign for sign in signs if sign in "gb")
    return None if tally["g"] == tally["b"] else "g" if tally["g"] > tally["b"] else "b"


@settings(max_examples=30, deadline=None)
@given(ada=GIVEN, bob=GIVEN, on_rule=GIVEN, verdicts_of_judge=SIGNS, broken=SIGNS)
def test_every_count_is_what_counting_by_hand_gives(
    ada: list[str], bob: list[str], on_rule: list[str], verdicts_of_judge: list[str], broken: list[str]
) -> None:
    given_grades = [*grades(ada, "ada"), *grades(bob, "bob"), *grades(on_rule, "ada", RULE)]
    result = made(given_grades, verdicts_of_judge, broken)
    whole, rule = [], []
    for n in range(N):
        # A good grade on the whole is one on the rule; without a grade on the whole, that on the only rule counts.
        own = on_rule[n] if on_rule[n] != "-" else "g" if ada[n] == "g" else "-"
        whole.append(majority(ada[n] if ada[n] != "-" else on_rule[n], bob[n]))
        # What follows from the whole alone needs a whole that is good by both.
        says = on_rule[n] != "-" or whole[-1] == "g"
        rule.append(majority(own, "g" if bob[n] == "g" else "-") if says else None)
    judge, verdicts = row(result, "judge"), row(result, "verdicts")
    for shown, labels, signs in ((judge, rule, verdicts_of_judge), (verdicts, whole, broken)):
        if shown is None:
            assert not any(sign in ("pfn" if labels is rule else "pf") for sign in signs)
            continue
        tally = Counter(zip(labels, signs, strict=True))
        counts = shown.graded.counts
        assert (counts.caught, counts.missed) == (tally["b", "f"], tally["b", "p"])
        assert (counts.flagged, counts.kept) == (tally["g", "f"], tally["g", "p"])
    if judge is not None:
        assert judge.silent == sum(
            label is not None and sign == "n" for label, sign in zip(rule, verdicts_of_judge, strict=True)
        )
        assert judge.on_whole is not None
        tally = Counter(zip(whole, verdicts_of_judge, strict=True))
        assert (judge.on_whole.caught, judge.on_whole.kept) == (tally["b", "f"], tally["g", "p"])
    labels_of = {one.subject: one for one in result.labels}
    assert (labels_of["output"].good, labels_of["output"].bad) == (whole.count("g"), whole.count("b"))
    assert (labels_of["r1"].good, labels_of["r1"].bad) == (rule.count("g"), rule.count("b"))


def test_the_random_sample_ends_where_the_first_of_its_outputs_is_not_graded() -> None:
    book = GradeBook.of(grades(list("gbgbgbgbgb"), "ada"), (WHOLE, RULE))
    order = sorted(ITEMS, key=lambda one: one.id)
    assert len(GradedItems(ITEMS, book).sample("output")) == len(order)
    half = made(grades(list("gbgbgbgbg-"), "ada"), ["p"] * N, ["p"] * N)
    assert half.labels[0].sampled == 0
    shown = row(half, "verdicts")
    assert shown is not None
    assert shown.sample is None


def test_a_rule_has_a_random_sample_only_where_what_is_bad_on_the_whole_was_graded_on_it() -> None:
    whole = grades(list("ggbgbgggbg"), "ada")
    subjects = (WHOLE, RULE)
    assert len(GradedItems(ITEMS, GradeBook.of(whole, subjects)).sample("output")) == N
    # Good ones are good on the rule, and nothing is known of the bad ones: the sample must not end before the first.
    assert GradedItems(ITEMS, GradeBook.of(whole, subjects)).sample("r1") == frozenset()
    some = grades(list("--b-------"), "ada", RULE)
    assert GradedItems(ITEMS, GradeBook.of([*whole, *some], subjects)).sample("r1") == frozenset()
    each = grades(list("--b-g---b-"), "ada", RULE)
    assert len(GradedItems(ITEMS, GradeBook.of([*whole, *each], subjects)).sample("r1")) == N
    # Where all is good on the whole and nobody looks at the rule, nobody knows whether they would.
    good = GradeBook.of(grades(["g"] * N, "ada"), subjects)
    assert GradedItems(ITEMS, good).sample("r1") == frozenset()


def test_people_are_held_against_each_other_on_what_both_graded_themselves() -> None:
    result = made([*grades(list("ggbbuggg--"), "ada"), *grades(list("gbbbbg-u--"), "bob")], ["p"] * N, ["p"] * N)
    (pair,) = result.people
    assert (pair.first, pair.second, pair.subject) == ("ada", "bob", "output")
    assert (pair.both_good, pair.second_bad, pair.both_bad, pair.first_bad) == (2, 1, 2, 0)
    assert pair.agreed.n == 5
