"""Criteria drift, on the benchmark of EvalGen's task: grades on older words go stale, and are offered again.

Two graders of ``benchmarks/post-entities``: ada graded when the rule on hashtags forbade what the post names as a
hashtag, bo since it allows the plain name.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from promptpex.core.records import Output
from promptpex.documents.human_grades import read_grades
from promptpex.grading.book import GradeBook, subjects_of
from promptpex.specs.file import read_spec
from promptpex.workflow.grading_desk import GradingProject, GradingWishes, open_desk
from tests.assertions.checked_here import check_rules

BENCHMARK = Path(__file__).parent.parent.parent / "benchmarks" / "post-entities"
OLDER = "The output has no hashtags, and lists nothing that the post names as a hashtag."
HASHTAGS = "r4"


@pytest.fixture
def project(tmp_path: Path) -> GradingProject:
    """The benchmark in a folder of its own, opened for grading."""
    folder = tmp_path / "post-entities"
    shutil.copytree(BENCHMARK, folder)
    return open_desk([folder / "prompt.md"], tmp_path / "results", GradingWishes(), lambda event: None)


def test_under_the_older_words_the_older_grades_count_and_the_newer_are_stale(project: GradingProject) -> None:
    spec = read_spec(BENCHMARK / "prompt.spec.yaml")
    rules = [rule.replace(rule=OLDER) if rule.id == HASHTAGS else rule for rule in spec.rules]
    book = GradeBook.of(read_grades(BENCHMARK / "prompt.grades.jsonl"), subjects_of(rules))
    plain = [item for item in project.desk.pool if item.model == "plain-names"]
    joints = [book.joint(item, HASHTAGS) for item in plain]
    assert len(joints) == 6
    assert sum(joint.label == "bad" for joint in joints) == 3  # of the others bo says that the whole output is good
    assert {grade.grader for joint in joints for grade in joint.stale} == {"bo"}


def test_under_the_newer_words_they_no_longer_count_and_are_kept_and_named(project: GradingProject) -> None:
    plain = [item for item in project.desk.pool if item.model == "plain-names"]
    joints = [project.desk.book.joint(item, HASHTAGS) for item in plain]
    assert [joint.label for joint in joints] == ["good", None, "good", None, None, "good"]
    assert all([grade.grader for grade in joint.stale] == ["ada"] for joint in joints)
    counts = project.desk.book.counts(HASHTAGS, project.desk.pool)
    assert counts.stale == 11 == project.desk.progress("ada").stale
    assert len(read_grades(project.grades)) == len(read_grades(BENCHMARK / "prompt.grades.jsonl"))


def test_what_nobody_has_graded_since_is_offered_again_and_counts_once_it_is_graded(project: GradingProject) -> None:
    desk = project.desk
    waiting = {item.id for item in desk.pool if any(one.id == HASHTAGS for one in desk.to_ask(item))}
    assert waiting == {
        item.id
        for item in desk.pool
        if desk.book.joint(item, HASHTAGS).stale and not desk.book.joint(item, HASHTAGS).graded
    }
    assert len(waiting) == 3
    offered: set[str] = set()
    while waiting - offered:
        assignment = desk.next("ada")
        assert assignment is not None
        offered.add(assignment.item.id)
        for subject in assignment.subjects:
            desk.give("ada", assignment.item.id, subject.id, "good", assignment=assignment)
    again = [desk.book.joint(item, HASHTAGS) for item in desk.pool if item.id in waiting]
    assert all(joint.graded and not joint.stale for joint in again)


def test_grades_on_what_code_decides_say_what_code_says(project: GradingProject) -> None:
    """The benchmark's own truth: bo's grades are under the present words, and the checks of r1 to r4 decide wholly."""
    rules = [rule for rule in project.spec.rules if rule.checks]
    pool = {item.id: item for item in project.desk.pool}
    outputs = [Output(case=item.case, model=item.id, text=item.output) for item in pool.values()]
    verdicts = check_rules(rules, outputs, lambda output: pool[output.model].inputs)
    status = {(verdict.model, verdict.rule): verdict.status for verdict in verdicts}
    graded = [grade for grade in read_grades(project.grades) if grade.grader == "bo"]
    on_rules = [grade for grade in graded if any(rule.id == grade.subject for rule in rules)]
    assert len(on_rules) > 10
    for grade in on_rules:
        assert status[grade.key, grade.subject] == ("pass" if grade.value == "good" else "fail"), grade.note
    for grade in graded:
        if grade.subject == "output" and grade.value == "good":
            assert {status[grade.key, rule.id] for rule in rules} == {"pass"}, pool[grade.key].output
