"""The rules of a spec as criteria: their checks are candidates, what these leave open is a question."""

from __future__ import annotations

from promptpex.assertions import check, compile_checks
from promptpex.core.records import Check, InputCheck, Rule, Spec, Synthesis
from promptpex.synthesis.proposing.from_rules import FromRules, from_rules

COUNT = Rule(
    id="r1",
    rule="The output has at most 50 words.",
    source="50 words",
    checks=(Check(kind="word-count", value={"max": 50}),),
)
PARTLY = Rule(
    id="r2",
    rule="The answer never names a price.",
    checks=(Check(kind="not-contains", value="$"), Check(kind="not-contains", value="€")),
    decides="partly",
)
JUDGED = Rule(id="r3", rule="The output is friendly.")
CONDITIONAL = Rule(
    id="r4",
    rule="If the order is sent, the output says {{status}}.",
    needs="input",
    when=(InputCheck(variable="status", kind="equals", value="sent"),),
    checks=(Check(kind="contains", value="sent"),),
)
EMPTY = Synthesis(prompt="p.md")


def taken(*rules: Rule, synthesis: Synthesis = EMPTY, before: FromRules | None = None) -> FromRules:
    """What these rules bring."""
    return from_rules(Spec(prompt="p.md", rules=rules), synthesis, before.rules if before else {}, ())


def with_made(made: FromRules) -> Synthesis:
    """A file that holds what was made."""
    return EMPTY.replace(criteria=made.criteria, candidates=made.candidates)


def test_checks_become_candidates_and_questions_ask_the_rest() -> None:
    made = taken(COUNT, PARTLY, JUDGED, CONDITIONAL)
    assert [(one.id, one.rule, one.category, one.version) for one in made.criteria] == [
        ("c1", "r1", "quantity", None),
        ("c2", "r2", "exclusion", None),
        ("c3", "r3", "other", None),
        ("c4", "r4", "inclusion", None),
    ]
    assert [(one.id, one.criteria, one.check.kind) for one in made.candidates] == [
        ("r1_has_at_most_50_words", ("c1",), "word-count"),
        ("r2_never_names_a_price", ("c2",), "assert-set"),
        ("r2_never_names_a_price_asked", ("c2",), "question"),
        ("r3_is_friendly_asked", ("c3",), "question"),
        ("r4_if_the_order_is_sent_the_asked", ("c4",), "question"),
    ]
    compile_checks([one.check for one in made.candidates])


def test_a_rule_in_braces_is_asked_letter_by_letter() -> None:
    (candidate,) = taken(CONDITIONAL).candidates
    result = check("x", [candidate.check], vars={"status": "sent"})
    (question,) = result.results[0].questions
    assert question.endswith("If the order is sent, the output says {{status}}.")


def test_what_was_taken_once_is_not_taken_again() -> None:
    first = taken(COUNT, JUDGED)
    second = taken(COUNT, JUDGED, before=first)
    assert (second.criteria, second.candidates) == ((), ())
    without_author = COUNT.replace(origin="edited", inverse="It has more.", content="x")
    assert taken(without_author, JUDGED, before=first).criteria == ()


def test_a_changed_rule_changes_its_own_candidate_under_the_old_name() -> None:
    first = taken(COUNT, JUDGED)
    file = with_made(first)
    file = file.replace(candidates=tuple(one.replace(choice="must") for one in file.candidates))
    stricter = COUNT.replace(
        rule="The output has at most 40 words.", checks=(Check(kind="word-count", value={"max": 40}),)
    )
    second = taken(stricter, JUDGED, synthesis=file, before=first)
    assert [(one.id, one.text) for one in second.criteria] == [("c1", "The output has at most 40 words.")]
    (candidate,) = second.candidates
    assert (candidate.id, candidate.check.value, candidate.choice) == ("r1_has_at_most_50_words", {"max": 40}, "must")
