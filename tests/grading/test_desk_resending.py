"""Grades that are sent more than once, and the policy that a grader asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.errors import GradeError
from promptpex.core.records import Example, output_key
from promptpex.documents.human_grades import read_grades
from promptpex.grading.desk import GradingDesk
from promptpex.grading.subjects import WHOLE, Subject

TIME = "2026-03-01T09:30:00.001+00:00"
LATER = "2026-03-01T09:30:01.001+00:00"
SUBJECTS = (WHOLE, Subject("r1", "It is short."))


def _items(count: int) -> list[Example]:
    inputs = [{"word": f"w{number}"} for number in range(count)]
    return [
        Example(id=output_key(one, "A"), inputs=one, output="A", case=f"c{n}", model="m")
        for n, one in enumerate(inputs)
    ]


def test_a_grade_that_is_sent_again_is_the_one_that_is_there(tmp_path: Path) -> None:
    path, items = tmp_path / "p.grades.jsonl", _items(2)
    desk = GradingDesk(items, SUBJECTS, path)
    first = desk.give("ada", items[0].id, "output", "bad", "wrong", time=TIME)
    second = desk.give("ada", items[0].id, "output", "good", time=LATER)

    later = GradingDesk(items, SUBJECTS, path)

    assert later.give("ada", items[0].id, "output", "bad", "wrong", time=TIME) == first
    assert later.give("ada", items[0].id, "output", "good", time=LATER) == second
    assert read_grades(path) == (first, second)
    assert (first.time, second.replaces) == (TIME, first.id)
    assert later.book.joint(items[0], "output").label == "good"


def test_at_one_time_others_and_other_outputs_are_graded_too(tmp_path: Path) -> None:
    path, items = tmp_path / "p.grades.jsonl", _items(2)
    desk = GradingDesk(items, SUBJECTS, path)
    for grader, item, subject in (
        ("ada", items[0], "output"),
        ("bob", items[0], "output"),
        ("ada", items[1], "output"),
        ("ada", items[0], "r1"),
    ):
        desk.give(grader, item.id, subject, "good", time=TIME)

    assert len(read_grades(path)) == 4


def test_a_time_without_an_offset_is_refused(tmp_path: Path) -> None:
    items = _items(1)
    desk = GradingDesk(items, SUBJECTS, tmp_path / "p.grades.jsonl")
    with pytest.raises(GradeError, match="offset"):
        desk.give("ada", items[0].id, "output", "good", time="yesterday")


def test_who_asks_for_another_policy_gets_a_new_choice(tmp_path: Path) -> None:
    desk = GradingDesk(_items(9), SUBJECTS, tmp_path / "p.grades.jsonl", policy="random")
    first = desk.next("ada")
    assert desk.next("ada") is first
    assert desk.next("ada", "random") is first
    assert desk.next("ada", "alternating") is not first
