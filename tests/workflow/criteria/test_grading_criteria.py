"""Criteria beside the desk: a note becomes something that is graded, candidates become opinions, grades become labels,
and what people chose goes into the spec."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.core.records import OUTPUT_SUBJECT, Request
from promptpex.grading.labels import LabelRules
from promptpex.llm.fake import FakeClient
from promptpex.specs.file import read_spec
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.workflow.criteria.page import CriteriaProject, criteria_beside
from promptpex.workflow.grading_desk import GradingProject, GradingWishes, open_desk
from tests.grading.graded_project import project
from tests.workflow.criteria.criteria_bench import proposed, until

TEXTS = {f"thing{number}": "blue" if number % 2 else f"It is number {number}." for number in range(16)}


def author(request: Request) -> str:
    items: list[dict[str, Any]] = []
    if request.stage == "candidates":
        items = [
            proposed("one_word", "word-count", "exactly 1 words", "one_word"),
            proposed("no_sentence", "regex", r"^[a-z ]+$", "one_word"),
        ]
    return json.dumps({"items": items})


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[GradingProject, CriteriaProject]]:
    monkeypatch.chdir(tmp_path)
    folder = project(tmp_path, TEXTS)
    desk = open_desk([folder], tmp_path / "results", GradingWishes(Path("colours.md")), lambda event: None)
    resolved = load({"author": "openai/author", "store": str(tmp_path / "store.db")}, start=tmp_path, env={})
    criteria = criteria_beside(desk, resolved, LabelRules(), provider=FakeClient(author))
    yield desk, criteria
    criteria.close()


Opened = tuple[GradingProject, CriteriaProject]


def test_from_a_note_to_checks_of_the_spec(opened: Opened, tmp_path: Path) -> None:
    grading, criteria = opened
    for item in grading.desk.pool:
        bad = " " in item.output
        grade = grading.desk.give("ada", item.id, OUTPUT_SUBJECT, "bad" if bad else "good", "one word" if bad else "")
    noted = next(one for one in grading.desk.book.grades if one.note)
    criteria.from_note(noted.grader, noted.key, noted.subject)
    subject = next(one for one in grading.desk.subjects if one.id == "one_word")
    grading.desk.give("ada", grade.key, subject.id, "bad")
    assert grading.desk.book.joint(grading.desk.pool[0], "r1").label is None
    criteria.make("one_word")
    until(criteria, lambda board: not board.is_working and board.made == 2)
    opinions = [one for one in grading.desk.opinions[grading.desk.pool[0].id] if one.source == "candidate"]
    fates = {(one.assertion, one.subject, one.status) for one in opinions if one.subject == "one_word"}
    assert fates == {("one_word", "one_word", "fail"), ("no_sentence", "one_word", "fail")}
    examples = SynthesisFolder.of(tmp_path / "colours.md").read_examples()
    assert [example.label for example in examples] == ["bad", "good"] * 8
    criteria.reword("one_word", "The output is exactly one word.")
    assert next(one for one in grading.desk.subjects if one.id == "one_word").text == "The output is exactly one word."
    for rule in ("c1", "c2"):
        criteria.settle(rule, "code", True, None, False)
    criteria.choose("one_word", "must")
    criteria.choose("no_sentence", "never")
    until(criteria, lambda board: not board.is_working)
    assert run_cli(["select", "colours.synthesis", "--into-spec", "--coverage", "0", "-q"]) == 0
    rules = {rule.id: rule for rule in read_spec(tmp_path / "colours.spec.yaml").rules}
    assert [check.metric for check in rules["one_word"].checks] == ["one_word"]


def test_a_rule_that_is_reworded_labels_no_example_by_its_old_words(opened: Opened, tmp_path: Path) -> None:
    grading, criteria = opened
    for item in grading.desk.pool[:3]:
        for rule in ("r1", "r2"):
            grading.desk.give("ada", item.id, rule, "good")
    criteria.add_candidate("c1", "yaml", "kind: word-count\nvalue: 1")
    folder = SynthesisFolder.of(tmp_path / "colours.md")
    assert [one.label for one in folder.read_examples()].count("good") == 3
    criteria.reword("c1", "The output has one word.")
    assert [one.label for one in folder.read_examples()].count("good") == 0


def test_a_criterion_that_is_set_aside_or_deleted_is_asked_no_more(opened: Opened) -> None:
    grading, criteria = opened
    criteria.add("It is kind.", "Kind")
    criteria.add("It is short.", "Short")
    criteria.settle("kind", "both", False, None, False)
    assert [one.id for one in grading.desk.subjects] == ["output", "r1", "r2", "short"]
    criteria.delete("short")
    assert [one.id for one in grading.desk.subjects] == ["output", "r1", "r2"]
    assert grading.desk.ask == (OUTPUT_SUBJECT,)
