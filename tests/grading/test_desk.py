"""The desk: what is handed out, to whom, and that no grade is lost, whoever writes and whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from promptpex.core.errors import GradeError
from promptpex.core.records import Criterion, Grade
from promptpex.documents.human_grades import current, read_grades
from promptpex.grading.book import subjects_of
from promptpex.grading.desk import ADJUDICATED, HELD_MINUTES, SECOND_OPINION, Assignment, GradingDesk
from promptpex.grading.labels import LabelRules
from promptpex.grading.next_item import Opinion
from promptpex.grading.random_sample import RANDOM
from tests.grading.graded_project import RULES, TEXTS, item, items, ticking

SUBJECTS = subjects_of(RULES)
OPINION = Opinion("short", "kind", "candidate", status="fail")
SKY, GRASS, SEA, NIGHT = items()


def desk(path: Path, texts: Mapping[str, str] = TEXTS, **more: object) -> GradingDesk:
    return GradingDesk(items(texts), SUBJECTS, path, **{"clock": ticking(), "policy": RANDOM, **more})  # type: ignore[arg-type]


def grades(path: Path) -> list[tuple[str, str, str, str]]:
    """What holds in the file: grader, case, subject, value."""
    return [(one.grader, one.case, one.subject, one.value) for one in current(read_grades(path))]


def test_every_item_is_handed_out_once_with_how_it_was_chosen(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl")
    seen = []
    while (next_one := table.next("ada")) is not None:
        assert table.next("ada") == next_one, "the same until it is graded"
        table.give("ada", next_one.item.id, "output", "good", assignment=next_one)
        seen.append(next_one.item.case)
    assert sorted(seen) == sorted(TEXTS)
    written = read_grades(tmp_path / "g.jsonl")
    assert [one.policy for one in written] == ["random"] * 4
    assert [one.case for one in written] == seen
    assert all(one.probability is not None for one in written)


def test_two_graders_at_one_desk_get_different_items(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl", second_share=0.0)
    first, second = table.next("ada"), table.next("bob")
    assert first is not None
    assert second is not None
    assert first.item.id != second.item.id
    late = desk(tmp_path / "g.jsonl", second_share=0.0, clock=_hours())
    one, other = late.next("ada"), late.next("bob")
    assert one is not None
    assert other is not None
    assert one.item.id == other.item.id, f"after {HELD_MINUTES} minutes"


def _hours() -> object:
    hours = iter(range(24))
    return lambda: datetime(2026, 3, 1, next(hours), tzinfo=UTC)


def test_a_grade_is_corrected_by_a_line_that_replaces_it(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl")
    first = table.give("ada", SKY.id, "output", "good", assignment=Assignment(SKY, "random", 0.25, ()))
    again = table.give("ada", SKY.id, "output", "good")
    assert again == first, "saying the same again writes nothing"
    second = table.give("ada", SKY.id, "output", "bad", "a note")
    assert (second.replaces, second.policy, second.probability) == (first.id, "random", 0.25)
    table.give("bob", SKY.id, "output", "good")
    assert len(read_grades(tmp_path / "g.jsonl")) == 3
    assert grades(tmp_path / "g.jsonl") == [("ada", "sky", "output", "bad"), ("bob", "sky", "output", "good")]


def test_undo_goes_back_step_by_step_also_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    table, steps = desk(path), [("output", "good"), ("output", "bad"), ("r1", "bad"), ("output", "unsure")]
    table.give("bob", SKY.id, "output", "good")
    states = [grades(path)]
    for subject, value in steps:
        table.give("ada", SKY.id, subject, value)  # type: ignore[arg-type]
        states.append(grades(path))
    other = desk(path)
    for (subject, value), state in zip(reversed(steps), reversed(states[:-1]), strict=True):
        undone = other.undo("ada")
        assert undone is not None
        assert (undone.subject, undone.value) == (subject, value)
        assert sorted(grades(path)) == sorted(state)
    assert other.undo("ada") is None
    given = other.give("ada", SKY.id, "output", "good")
    assert ("ada", "sky", "output", "good") in grades(path)
    assert other.undo("ada") == given
    assert grades(path) == states[0]


def test_undo_follows_any_history(tmp_path: Path) -> None:
    random = Random(7)
    path = tmp_path / "g.jsonl"
    table, stack = desk(path), [grades(path)]
    for _ in range(120):
        if random.random() < 0.4 and len(stack) > 1:
            table.undo("ada")
            stack.pop()
        else:
            one = random.choice(items())
            before = len(read_grades(path))
            table.give("ada", one.id, random.choice(["output", "r1"]), random.choice(["good", "bad", "unsure"]))
            if len(read_grades(path)) > before:
                stack.append(grades(path))
        assert sorted(grades(path)) == sorted(stack[-1])
    assert table.book.graders == desk(path).book.graders


def test_reworded_rules_are_offered_again(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    table = desk(path)
    for one in items():
        table.give("ada", one.id, "output", "bad")
    table.give("ada", SKY.id, "r2", "bad")
    assert table.next("ada") is None
    reworded = subjects_of((RULES[0], RULES[1].replace(rule="The output is the usual colour of the thing.")))
    later = GradingDesk(items(), reworded, path, clock=ticking(datetime(2026, 3, 2, tzinfo=UTC)))
    assignment = later.next("ada")
    assert assignment is not None
    assert (assignment.item.id, [one.id for one in assignment.subjects]) == (SKY.id, ["r2"])
    assert later.progress("ada").stale == 1
    later.give("ada", SKY.id, "r2", "good", assignment=assignment)
    assert later.next("ada") is None
    assert later.progress("ada").stale == 0


def test_second_opinions_are_a_share_of_the_assignments_and_hide_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    texts = {f"thing {number}": f"colour {number}" for number in range(200)}
    ada = desk(path, texts, second_share=0.0)
    for one in items(texts)[:100]:
        ada.give("ada", one.id, "output", "good")
    bob, kinds = desk(path, texts, second_share=0.2), []
    for _ in range(80):
        assignment = bob.next("bob")
        assert assignment is not None
        kinds.append(assignment.policy)
        if assignment.policy == SECOND_OPINION:
            assert assignment.probability is not None
            assert 0.2 / 100 <= assignment.probability <= 0.2 / 70
        bob.give("bob", assignment.item.id, "output", "bad", assignment=assignment)
    assert 8 <= kinds.count(SECOND_OPINION) <= 24
    pairs = bob.book.person_pairs("output", bob.pool)
    assert pairs[0].table == ((0, 0), (kinds.count(SECOND_OPINION), 0)) or pairs[0].table[0][1] == kinds.count(
        SECOND_OPINION
    )
    everything = desk(path, texts, second_share=1.0).next("cleo")
    assert everything is not None
    assert everything.policy == SECOND_OPINION


def test_who_decides_is_shown_what_the_others_differ_about(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    table = desk(path, rules=LabelRules("adjudicated:dora"), second_share=0.0)
    table.give("ada", SEA.id, "output", "good")
    table.give("bob", SEA.id, "output", "bad")
    assignment = table.next("dora")
    assert assignment is not None
    assert (assignment.item.id, assignment.policy, assignment.probability) == (SEA.id, ADJUDICATED, None)
    table.give("dora", SEA.id, "output", "bad", assignment=assignment)
    assert table.book.joint(SEA).label == "bad"
    following = table.next("dora")
    assert following is not None
    assert following.policy != ADJUDICATED


def test_who_decides_and_is_unsure_is_not_shown_the_same_again(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl", rules=LabelRules("adjudicated:dora"), second_share=0.0)
    table.give("ada", SEA.id, "output", "good")
    table.give("bob", SEA.id, "output", "bad")
    table.give("ada", SKY.id, "output", "unsure")
    assignment = table.next("dora")
    assert assignment is not None
    assert assignment.item.id == SEA.id
    table.give("dora", SEA.id, "output", "unsure", assignment=assignment)
    following = table.next("dora")
    assert following is not None
    assert (following.item.id == SEA.id, following.policy == ADJUDICATED) == (False, False)


def test_asking_for_rules_a_good_output_needs_no_further_word(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl", {"sky": "blue", "grass": "green"}, ask=("output", "r1", "r2"))
    first = table.next("ada")
    assert first is not None
    assert [one.id for one in first.subjects] == ["output", "r1", "r2"]
    table.give("ada", first.item.id, "output", "good", assignment=first)
    second = table.next("ada")
    assert second is not None
    assert second.item.id != first.item.id
    table.give("ada", second.item.id, "output", "bad", assignment=second)
    left = table.next("ada")
    assert left is not None
    assert left.item.id == second.item.id
    table.give("ada", second.item.id, "r1", "bad", assignment=left)
    table.give("ada", second.item.id, "r2", "unsure", assignment=left)
    assert table.next("ada") is None


def test_what_others_add_is_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    first, second = desk(path), desk(path)
    first.give("ada", SKY.id, "output", "bad")
    assert second.refresh().joint(SKY).label == "bad"
    second.give("bob", GRASS.id, "output", "good")
    first.give("ada", SEA.id, "output", "good")
    assert first.book.joint(GRASS).label == "good"
    path.write_bytes(b"")
    assert not first.refresh().grades


def test_what_another_adds_between_reading_and_writing_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    other, tick = desk(path), ticking(datetime(2026, 3, 2, tzinfo=UTC))

    def clock() -> datetime:
        other.give("bob", GRASS.id, "output", "bad")
        return tick()

    table = desk(path, clock=clock)
    table.give("ada", SKY.id, "output", "good")
    assert table.book.joint(GRASS).label == "bad"
    assert table.book.joint(SKY).label == "good"


def test_what_cannot_be_graded_is_refused_in_a_sentence(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl")
    for arguments, message in (
        (("ada", "0" * 32, "output", "good"), "is not among those that are graded"),
        (("ada", SKY.id, "r9", "good"), "there is no rule or criterion 'r9'"),
        (("", SKY.id, "output", "good"), "grader: "),
        (("a" * 201, SKY.id, "output", "good"), "grader: "),
        (("ada", SKY.id, "output", "fine"), "value: "),
        (("ada", SKY.id, "output", "good", "x" * 20_001), "note: "),
    ):
        with pytest.raises(GradeError, match=message):
            table.give(*arguments)
    assert not (tmp_path / "g.jsonl").exists()


def test_hostile_names_and_notes_leave_a_file_that_can_be_read(tmp_path: Path) -> None:
    odd = GradingDesk([item("sky\ud800", "bl\ud800ue\x1b[2J")], SUBJECTS, tmp_path / "g.jsonl", clock=ticking())
    odd.give("a\ud800da\u202e\x1b", odd.pool[0].id, "output", "bad", "no\ud800te\n\x00\x1b]0;x\x07")
    (grade,) = read_grades(tmp_path / "g.jsonl")
    assert grade.note == "no\ufffdte\n\x00\x1b]0;x\x07"
    assert b"\x1b" not in (tmp_path / "g.jsonl").read_bytes()


def test_threads_at_one_desk_and_at_several_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    desks = [desk(path), desk(path)]

    def work(name: str, table: GradingDesk) -> None:
        for one in items():
            table.give(name, one.id, "output", "good")
            table.give(name, one.id, "r1", "bad")

    threads = [threading.Thread(target=work, args=(f"person {number}", desks[number % 2])) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_grades(path)) == 6 * 4 * 2
    assert desks[0].refresh().graders == tuple(f"person {number}" for number in range(6))


_GRADE_FOR_EVER = """
import sys
from pathlib import Path
from promptpex.grading.desk import GradingDesk
from promptpex.grading.next_item import Opinion
from promptpex.grading.random_sample import RANDOM
from promptpex.grading.book import subjects_of
from tests.grading.graded_project import RULES, items
desk = GradingDesk(items(), subjects_of(RULES), Path(sys.argv[1]))
number = 0
while True:
    number += 1
    grade = desk.give(sys.argv[2], items()[number % 4].id, "output", "good", f"note {number}")
    print(grade.id, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_grade_that_was_answered_for_survives_kill_9_of_several_processes(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    root = str(Path(__file__).parents[2])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _GRADE_FOR_EVER, str(path), name],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": root},
            cwd=tmp_path,
            text=True,
        )
        for name in ("ada", "bob")
    ]
    given: list[str] = []
    try:
        for process in processes:
            assert process.stdout is not None
            given += [process.stdout.readline().strip() for _ in range(20)]
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
    for process in processes:
        assert process.stdout is not None
        given += [line.strip() for line in process.stdout if line.endswith("\n")]
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
    kept: dict[str, Grade] = {grade.id: grade for grade in read_grades(path)}
    assert len(given) >= 40
    assert set(given) <= kept.keys()
    assert desk(path).give("cleo", SKY.id, "output", "good").id in {one.id for one in read_grades(path)}


def test_what_can_be_graded_changes_while_people_grade(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl", ask=("r1", "r2"))
    table.give("ada", SKY.id, "r1", "bad")
    rules = [RULES[0].replace(rule="The output is a single word."), RULES[1]]
    table.regard(subjects_of(rules, [Criterion(id="kind", text="It is kind.")]), {SKY.id: (OPINION,)})
    assert table.book.joint(SKY, "r1").label is None
    assert len(table.book.joint(SKY, "r1").stale) == 1, "it was given for other words, and says so"
    assert (table.ask, table.opinions[SKY.id]) == (("r1", "r2"), (OPINION,))
    table.give("ada", SKY.id, "kind", "good")
    table.regard(subjects_of(rules[1:]))
    assert (table.ask, table.opinions[SKY.id]) == (("r2",), (OPINION,))
    table.regard(subjects_of(()))
    assert table.ask == ("output",)


def test_who_grades_everything_is_asked_for_what_is_new_too(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl", ask=("output", "r1", "r2"))
    table.regard(subjects_of(RULES, [Criterion(id="kind", text="It is kind.")]))
    assert table.ask == ("output", "r1", "r2", "kind")
    alone = desk(tmp_path / "g.jsonl")
    alone.regard(subjects_of(RULES, [Criterion(id="kind", text="It is kind.")]))
    assert alone.ask == ("output",)


def test_who_asks_for_another_policy_gets_a_new_choice(tmp_path: Path) -> None:
    table = desk(tmp_path / "g.jsonl", {f"c{number}": f"text {number}" for number in range(9)})
    first = table.next("ada")
    assert table.next("ada") is table.next("ada", "random") is first
    assert table.next("ada", "alternating") is not first
