"""Criteria inferred from a prompt, made of notes, and reworded: what is asked, and what of a reply is taken."""

from __future__ import annotations

from typing import Any

from promptpex.core.events import Event, Notice
from promptpex.core.records import Criterion, Example, Grade, Request, Rule
from promptpex.grading.book import GradeBook, subjects_of
from promptpex.synthesis.proposing.criteria import Suggestions, suggest_criteria
from promptpex.synthesis.proposing.graded_examples import GradedExamples, examples_for, examples_for_notes
from tests.samples import asked, prompt, role_model

RULE = Rule(id="r1", rule="The output is one word.")
KNOWN = (Criterion(id="one_word", text="The output is one word."),)


def suggested(title: str, text: str, kind: str = "code", told_from: str = "output", **more: Any) -> dict[str, Any]:
    return {"title": title, "criterion": text, "type": kind, "told_from": told_from, "source": "", **more}


async def inferred(*items: Any, heard: list[Event] | None = None) -> tuple[Suggestions, list[Request]]:
    author, client = role_model(lambda request: {"items": list(items)} if items else "nonsense")
    emit = (heard if heard is not None else []).append
    made = await suggest_criteria(author, prompt(), known=KNOWN, taken={"r1"}, emit=emit)
    return made, client.requests


async def test_suggestions_have_telling_ids_and_a_kind() -> None:
    made, requests = await inferred(
        suggested("In capitals!", "All letters are capitals.", source=" Answer in capitals "),
        suggested("in capitals", "Every letter is a capital.", "judge"),
        suggested("", "It names a colour.", "program"),
        suggested("output", "It is short."),
        suggested("R1", "It is true."),
        suggested("名前", "It is kind."),
    )
    assert [(one.id, one.by, one.origin) for one in made.criteria] == [
        ("in_capitals", "code", "extracted"),
        ("in_capitals_2", "judge", "extracted"),
        ("criterion", "both", "extracted"),
        ("output_2", "code", "extracted"),
        ("r1_2", "code", "extracted"),
        ("criterion_2", "code", "extracted"),
    ]
    assert made.criteria[0].source == "Answer in capitals"
    assert "The output is one word." in asked(requests[0])
    assert requests[0].stage == "infer"


async def test_what_no_output_tells_and_what_is_there_is_left_out_and_said() -> None:
    heard: list[Event] = []
    made, _ = await inferred(
        suggested("fast", "It takes under a second.", told_from="something else"),
        suggested("one word", "the output is  ONE word"),
        suggested("kind", "It is kind.", "judge"),
        suggested("kind again", "It is kind."),
        heard=heard,
    )
    assert [one.text for one in made.criteria] == ["It is kind."]
    assert (made.repeated, made.beyond) == (2, ("It takes under a second.",))
    notices = [event.message for event in heard if isinstance(event, Notice)]
    expected = "criteria left out: 2 suggestions repeated another one; 1 suggestion that no output can show"
    assert any(notice.startswith(expected) for notice in notices)


async def test_a_reply_of_no_use_is_no_error_and_is_told_from_an_empty_one() -> None:
    made, _ = await inferred()
    assert (made.criteria, made.answered) == ((), False)
    author, _ = role_model(lambda request: {"items": []})
    assert (await suggest_criteria(author, prompt())).answered


def item(text: str, number: int = 0) -> Example:
    inputs = {"thing": f"t{number}", "place": "here"}
    grade = Grade.of(
        inputs=inputs, output=text, time="2026-03-01T09:00:00+00:00", grader="a", case="c", model="m", value="bad"
    )
    return Example(id=grade.key, inputs=inputs, output=text)


def graded(
    example: Example, value: str, note: str = "", subject: str = "output", text: str = "", who: str = "ada"
) -> Grade:
    return Grade.of(
        inputs=example.inputs, output=example.output, time="2026-03-01T09:30:00+00:00", grader=who, case="c1",
        model="m", value=value, note=note, subject=subject, subject_text=text,
    )  # fmt: skip


async def test_notes_on_bad_outputs_become_criteria_that_name_their_grades() -> None:
    examples = [item(text, number) for number, text in enumerate(("BLUE", "blue", "sky!", "RED"))]
    grades = [
        graded(examples[0], "good", "as it should be"),
        graded(examples[1], "bad", "not in capitals"),
        graded(examples[2], "bad", "no colour"),
        graded(examples[2], "bad", "about the rule", subject="r1", text=RULE.rule),
        graded(examples[3], "bad"),
    ]
    book = GradeBook.of(grades, subjects_of([RULE], KNOWN))
    shown = examples_for_notes(book, examples, most_bad=12)
    assert {one.output: one.reason for one in shown.bad} == {"blue": "not in capitals", "sky!": "no colour"}
    assert [one.output for one in shown.good] == ["BLUE"]
    reply = [
        suggested(
            "capitals", "All letters are capitals.", answers=[one.id for one in shown.bad if one.output == "blue"]
        ),
        suggested("colour", "It names a colour.", "judge", answers=["b9", "b1", "b2"]),
    ]
    author, client = role_model(lambda request: {"items": reply})
    made = await suggest_criteria(author, prompt(), shown, known=KNOWN)
    assert [(one.id, one.notes) for one in made.criteria] == [
        ("capitals", (grades[1].id,)),
        ("colour", tuple(one.grades[0] for one in shown.bad)),
    ]
    text = asked(client.requests[0])
    assert "not in capitals" in text
    assert "as it should be" in text
    used = [name for one in made.criteria for name in one.notes]
    assert examples_for_notes(book, examples, used=used, most_bad=12).bad == ()


async def test_without_a_note_on_a_bad_output_nobody_is_asked() -> None:
    author, client = role_model(lambda request: {"items": []})
    assert await suggest_criteria(author, prompt(), GradedExamples()) == Suggestions()
    assert client.requests == []


def test_an_author_of_candidates_sees_only_inputs_that_measure_nothing() -> None:
    examples = [item(f"text {number}", number) for number in range(80)]
    criterion = Criterion(id="kind", text="It is kind.")
    grades = []
    for number, one in enumerate(examples):
        if number % 4 == 0:
            grades.append(graded(one, "good"))
        elif number % 4 == 1:
            grades.append(graded(one, "bad", f"rude {number}", subject="kind", text=criterion.text))
        elif number % 4 == 2:
            grades.append(graded(one, "bad", f"wrong {number}"))
    book = GradeBook.of(grades, subjects_of((), [criterion]))
    shown = examples_for(book, examples, "kind")
    assert 0 < len(shown.good) <= 4
    assert len(shown.bad) == 4
    outputs = {one.output for one in (*shown.good, *shown.bad)}
    assert outputs <= {one.output for one in examples if one.is_shown}
    assert shown.bad[0].reason.startswith("rude"), "what is bad by the criterion comes first"
    assert all(one.reason for one in shown.bad)
    assert examples_for(book, [one for one in examples if not one.is_shown], "kind") == GradedExamples()
    assert examples_for(book, examples[::-1], "kind") == shown, "the order in which outputs come means nothing"


async def test_long_outputs_and_notes_are_cut_in_requests() -> None:
    one = item("word " * 5_000)
    book = GradeBook.of([graded(one, "bad", "long " * 3_000)], subjects_of(()))
    (shown,) = examples_for_notes(book, [one], most_bad=12).bad
    assert len(shown.output) <= 2_001
    assert len(shown.reason) <= 2_001
