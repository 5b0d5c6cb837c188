"""The examples in a prompt's synthesis folder, from a run, grades and a table, on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.errors import RunError, SynthesisError
from promptpex.core.events import Event, Notice
from promptpex.core.records import Grade
from promptpex.documents.human_grades import append_grades
from promptpex.grading.labels import LabelRules
from promptpex.promptfile import read
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.workflow.trying_candidates import ExampleSources, update_examples
from tests import samples
from tests.synthesis.labelled import grade, output, run_of

TEXT = f"{samples.TEXT}\n{{{{thing}}}}\n{{{{place}}}}\n"


MAJORITY = LabelRules()


class Desk:
    """A folder with a prompt in it, and what is said while its examples are updated."""

    def __init__(self, path: Path) -> None:
        self.file = path / "colours.md"
        self.file.write_text(TEXT, encoding="utf-8")
        self.folder = SynthesisFolder.of(self.file)
        self.notices: list[str] = []

    def update(self, *texts: str, table: str = "", rules: LabelRules = MAJORITY) -> list[tuple[str, object]]:
        prompt = read(self.file)
        outputs = [output("c1", text, repeat=number) for number, text in enumerate(texts)]
        labels = self.file.with_name("labels.csv")
        labels.write_text(table, encoding="utf-8")
        run = run_of(*outputs, prompt=prompt) if texts else None
        sources = ExampleSources(run, labels if table else None, rules)
        examples = update_examples(self.folder, self.file, prompt, samples.spec().rules, sources, self._on_event)
        return [(example.output, example.label) for example in examples]

    def grade(self, *grades: Grade) -> None:
        append_grades(self.file.with_name("colours.grades.jsonl"), grades)

    def _on_event(self, event: Event) -> None:
        assert isinstance(event, Notice)
        self.notices.append(event.message)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_labels_come_from_grades_and_are_made_anew_each_time(desk: Desk) -> None:
    desk.grade(grade("good", "BLUE"), grade("bad", "SKY"), grade("bad", "BLUE", grader="bob"))
    assert desk.folder.path.name == "colours.synthesis"
    assert desk.update("BLUE", "SKY", "RED", "RED") == [("BLUE", None), ("SKY", "bad"), ("RED", None)]
    assert desk.update(rules=LabelRules(graders="any-bad")) == [("BLUE", "bad"), ("SKY", "bad"), ("RED", None)]
    assert desk.notices[0] == ("run r: 3 examples; 1 output with the same text as another one for the same inputs")
    assert desk.notices[1].startswith("labels: 0 good examples, 1 bad, 2 without a label; the majority of the graders")
    assert desk.notices[2] == "labels: 1 output without a label since the graders disagree evenly"


def test_a_table_labels_outputs_of_the_run_and_brings_its_own(desk: Desk) -> None:
    table = "case,output,label\nc1,BLUE,1\nc2,PINK,0\n"
    assert desk.update("BLUE", table=table) == [("BLUE", "good"), ("PINK", "bad")]
    assert "labels of labels.csv: 2 rows of labels; on 1 known example; 1 example of the table alone" in desk.notices
    assert desk.update("BLUE", "RED") == [("BLUE", "good"), ("PINK", "bad"), ("RED", None)]


def test_a_new_version_keeps_old_examples_and_does_not_choose_by_them(desk: Desk) -> None:
    desk.grade(grade("good", "BLUE"))
    desk.update("BLUE", "SKY")
    old = read(desk.file)
    desk.file.write_text(f"Be brief. {TEXT}", encoding="utf-8")
    assert desk.update("BLUE") == [("BLUE", "good")]
    assert [example.output for example in desk.folder.read_examples()] == ["BLUE", "SKY"]
    assert "1 example of other versions of the prompt: kept, but not used for the choice" in desk.notices
    sources = ExampleSources(run_of(output("c1", "BLUE"), prompt=old))
    with pytest.raises(RunError, match="an earlier text of colours"):
        update_examples(desk.folder, desk.file, read(desk.file), (), sources, lambda event: None)


def test_grades_that_count_no_more_are_counted(desk: Desk) -> None:
    desk.grade(
        grade("bad", "SKY", subject="r1", subject_text="Other words."),
        grade("good", "BLUE", subject="r1", subject_text="The output is one word."),
    )
    assert desk.update("BLUE", "SKY") == [("BLUE", None), ("SKY", None)]
    assert desk.notices[-2:] == [
        "labels: 1 output with all graded rules good, but not every rule graded: no label from that person",
        "labels: 1 grade given to words that their rules and criteria no longer have was left out",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"{", ":1: the line is not valid JSON"),
        (b"[" * 100_000, ":1: "),
        (b"{}", ":1: "),
        (b"\xff\xfe", ":1: "),
        (b'{"id":"a","output":"x"}\n\n{"id":"a","output":"x"}', ":3: the example a is there twice"),
        (b'{"id":"a","output":"x","label":"great"}', ":1: "),
    ],
)
def test_a_damaged_file_of_examples_is_one_sentence(desk: Desk, text: bytes, sentence: str) -> None:
    desk.folder.path.mkdir()
    desk.folder.examples.write_bytes(text)
    with pytest.raises(SynthesisError) as caught:
        desk.folder.read_examples()
    assert f"examples.jsonl{sentence}" in str(caught.value)


def test_a_folder_that_cannot_be_written_is_named(desk: Desk) -> None:
    desk.folder.path.write_text("a file", encoding="utf-8")
    with pytest.raises(SynthesisError, match="cannot be written"):
        desk.folder.write_examples([])
