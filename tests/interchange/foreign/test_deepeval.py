"""deepeval's goldens: files that deepeval wrote come in, and cases go out as goldens that come back."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.records import Case, Rule, Spec, Suite
from promptpex.interchange.deepeval import write
from promptpex.interchange.format import Project
from promptpex.promptfile import parse, renderer
from tests.interchange.foreign.imported import ProjectSource, imported, left_out, read, reads_as, written

DATA = Path(__file__).parents[2] / "data" / "foreign"
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_goldens_with_answers_are_a_run(ending: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / f"goldens.{ending}"
    path.write_bytes((DATA / f"deepeval_goldens.{ending}").read_bytes())
    made = imported(capsys, path, "deepeval")
    context = (
        ["All customers; 30 day | refund", "x"] if ending == "json" else ["All customers; 30 day ", " refund", "x"]
    )
    assert made.suite.cases[0].inputs == {
        "input": "What is your refund policy?",
        "context": context,
        "retrieval_context": ["Only shoes"],
        "additional_metadata": {"lang": "en"},
    }
    assert [(case.id, case.expected) for case in made.suite.cases] == [("refund", "30 days; full refund"), ("t2", None)]
    assert made.suite.cases[1].inputs == {"input": 'Hello, "you"\nthere'}
    assert [(output.case, output.text) for output in made.run().outputs] == [("refund", "You have 30 days.")]
    left = {note["name"].rpartition(".")[2] for note in made.answer["left_out"]}
    assert left == {"comments", "source_file", "tools_called", "custom_column_key_values"}


def test_goldens_without_answers_are_cases_alone(tmp_path: Path) -> None:
    rows = [
        {"input": "a", "expectedOutput": "b"},
        {"input": "[1,2]"},
        {"input": "x [DEEPEVAL:IMAGE:1]"},
        {"input": 3},
        {},
    ]
    made = read("deepeval", written(tmp_path / "g.jsonl", rows))
    assert made.is_suite
    assert made.suite is not None
    assert [(case.inputs, case.expected) for case in made.suite.cases] == [
        ({"input": "a"}, "b"), ({"input": "[1,2]"}, None)
    ]  # fmt: skip
    assert left_out(made) == [("[2]", 3), ("[3]", 4), ("[4]", 5)]


def test_conversations_are_chats_where_they_have_turns() -> None:
    made = read("deepeval", DATA / "deepeval_conversations.json")
    assert made.suite is not None
    ((inputs, scenario),) = [(case.inputs, case.scenario) for case in made.suite.cases]
    assert (inputs["input"], scenario) == ("Hi", "Wants a ticket")
    assert isinstance(inputs["expected_outcome"], str)
    assert [output.text for output in made.outputs] == ["Yes?"]
    assert [name for name, _ in left_out(made)] == ["[1]"]


TURNS = [{"role": "user", "content": "Hi", "user_id": None, "retrieval_context": None, "tools_called": None,
          "metadata": None}, {"role": "assistant", "content": "Yes?", "retrieval_context": ["a"]}]  # fmt: skip
COLUMNS = ("scenario", "turns", "expected_outcome", "user_description", "context", "name", "comments",
           "additional_metadata", "custom_column_key_values")  # fmt: skip


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_conversations_come_as_save_as_writes_them(ending: str, tmp_path: Path) -> None:
    golden = dict(zip(COLUMNS, ("Wants a ticket", TURNS, "A ticket is booked", "Calm", ["x", "y"], "c1", None,
                                {"lang": "en"}, None), strict=True))  # fmt: skip
    text = json.dumps([golden] if ending == "json" else golden)
    if ending == "csv":
        held = io.StringIO()
        csv.writer(held).writerows([COLUMNS, [
            "Wants a ticket", json.dumps(TURNS), "A ticket is booked", "Calm", "x|y", "c1", None, '{"lang": "en"}', None
        ]])  # fmt: skip
        text = held.getvalue()
    path = written(tmp_path / f"c.{ending}", text)
    assert reads_as(path)[0] == "deepeval"
    made = read("deepeval", path)
    assert made.suite is not None
    assert [(case.id, case.inputs, case.scenario) for case in made.suite.cases] == [("c1", {
        "input": "Hi", "expected_outcome": "A ticket is booked", "context": ["x", "y"],
        "additional_metadata": {"lang": "en"}}, "Wants a ticket")]  # fmt: skip
    assert [output.text for output in made.outputs] == ["Yes?"]
    assert [name for name, _ in left_out(made)] == ["[0].user_description"]


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip)


@settings(max_examples=40)
@given(st.lists(st.tuples(_TEXTS, st.none() | _TEXTS, st.lists(_TEXTS, max_size=2)), min_size=1, max_size=4,
                unique_by=lambda row: row[0]))  # fmt: skip
def test_cases_come_back_as_they_were(rows: list[tuple[str, str | None, list[str]]]) -> None:
    prompt = parse("---\nname: p\n---\nAnswer {{input}}\n")
    cases = tuple(
        Case(id=f"c{n}", inputs={"input": text, "context": context}, expected=expected, origin="added")
        for n, (text, expected, context) in enumerate(rows)
    )
    source = ProjectSource(Project(prompt, Spec(), Suite(cases=cases), rendered=renderer(prompt)))
    exported = write(source)
    with tempfile.TemporaryDirectory() as folder:
        made = read("deepeval", written(Path(folder) / "g.json", exported.text))
    assert made.suite is not None
    assert made.suite.cases == cases
    assert not exported.left_out


def test_what_a_golden_cannot_hold_is_named() -> None:
    prompt = parse("---\nname: p\n---\n{{a}} and {{b}}\n")
    cases = (
        Case(id="c1", inputs={"a": "x", "b": "y", "level": 3}, expected="1", also_right=("2",)),
        Case(id="c2", inputs={"a": "x", "b": "z"}, invalid="no"),
        Case(id="c3", inputs={"a": "x", "b": "w"}),
    )
    spec = Spec(rules=(Rule(id="r1", rule="It is short."),))
    exported = write(ProjectSource(Project(prompt, spec, Suite(cases=cases), rendered=renderer(prompt))))
    goldens = [{"input": "x and y", "name": "c1", "expected_output": "1"}, {"input": "x and w", "name": "c3"}]
    assert json.loads(exported.text) == goldens
    assert exported.left_out == (
        "cases that are not run, and are left out: 1",
        "rules that are left out, since goldens have none: 1",
        "deepeval has one input per golden: the prompt's last turn",
        "case c1: its further right outputs",
        "case c1: its input level",
    )
