"""Tables of labels: whatever bytes they hold, rows or one sentence with the line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.core.errors import SynthesisError
from promptpex.grading.labels import LabelRules, label_of
from promptpex.synthesis.examples import (
    LABELS,
    MAX_ROWS,
    LabelTable,
    RunExamples,
    TableExamples,
    examples_of,
    examples_of_table,
    read_labels,
)
from tests.synthesis.labelled import INPUTS, output, run_of

VARIABLES = ("thing", "place")


def table(tmp_path: Path, text: str | bytes, name: str = "labels.csv") -> LabelTable:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_labels(file, VARIABLES)


def resolved(tmp_path: Path, text: str, run: RunExamples, name: str = "labels.csv") -> TableExamples:
    return examples_of_table(table(tmp_path, text, name), run.examples, run, INPUTS)


RUN = examples_of(
    run_of(
        output("c1", "BLUE"),
        output("c1", "A\nB", repeat=1),
        output("c2", "GREEN"),
        output("c2", "GREEN", model="other"),
    )
)
BLUE, BROKEN, GREEN = (example.id for example in RUN.examples)


def test_rows_name_outputs_by_key_by_case_or_by_content(tmp_path: Path) -> None:
    text = (
        "case,model,repeat,label,output,thing,place,remark\r\n"
        "c1,m,0,good,,,,\r\n"
        "c2,,,fail,,,,both models agree\r\n"
        ",,,1.0,GREEN,grass,here,\r\n"
        'c1,,,FALSE,"A\r\nB",,,\r\n'
        ",,,unsure,PINK,rose,there,\r\n"
    )
    made = resolved(tmp_path, text, RUN)
    pink = next(iter(made.imported))
    assert {name: [(vote.grader, vote.value) for vote in votes] for name, votes in made.votes.items()} == {
        BLUE: [("line 2", "good")],
        GREEN: [("line 3", "bad"), ("line 4", "good")],
        BROKEN: [("line 5", "bad")],
        pink: [("line 7", "unsure")],
    }
    assert made.imported[pink].inputs == {"thing": "rose", "place": "there"}
    assert made.sentence() == (
        "5 rows of labels; on 3 known examples; 1 example of the table alone; 1 column not read: remark"
    )


def test_examples_come_whole_from_json_lines(tmp_path: Path) -> None:
    rows: list[object] = [
        {"inputs": {"thing": "rose", "place": 3}, "response": "PINK", "label": True, "prompt": "Name it."},
        {"inputs.thing": "rose", "place": "3", "output": "PINK\n", "label": 0, "grader": "bob"},
        {"case": "c2", "output": "RED", "label": None, "repeat": 4, "model": "m"},
    ]
    made = resolved(tmp_path, "\n".join(map(json.dumps, rows)), RUN, "labels.jsonl")
    first, second = made.imported.values()
    assert (first.inputs, first.prompt, first.version) == ({"thing": "rose", "place": 3}, "Name it.", "")
    assert [vote.value for vote in made.votes[first.id]] == ["good", "bad"]
    assert (second.case, second.inputs, second.repeat) == ("c2", INPUTS["c2"], 4)


def test_rows_that_contradict_each_other_follow_the_rules_for_labels(tmp_path: Path) -> None:
    votes = resolved(tmp_path, "case,label,repeat\nc1,good,0\nc1,bad,0\n", RUN).votes[BLUE]
    assert label_of(votes, LabelRules()) == (None, "the graders disagree: 1 good, 1 bad")
    assert label_of(votes, LabelRules(graders="latest")) == ("bad", "1 of 2 graders")
    assert label_of(votes, LabelRules(graders="any-bad")) == ("bad", "1 of 2 graders")


@pytest.mark.parametrize("written", sorted(LABELS))
def test_every_way_to_write_a_label(tmp_path: Path, written: str) -> None:
    rows = table(tmp_path, f"case,label\nc1, {written.upper()} \n").rows
    assert [row.value for row in rows] == [LABELS[written]]


BROKEN_TABLES: dict[str, str | bytes] = {
    "no column 'label' (its columns: a, b)": "a,b\n1,2\n",
    "has the column 'label' twice": "label,output,label\ngood,x,bad\n",
    "divided by ';'": "output;label\nx;good\n",
    "has 3 cells where the head has 2": "output,label\nx,good,more\n",
    "labels.csv:2: the row has 1 cell where": "output,label\nx\n",
    "the label 'great' is not one of good or bad": "output,label\nx,great\n",
    "names no output": "output,label\n,good\n",
    "has no rows": "output,label\n",
    "is empty": "",
    "a quote does not close": 'output,label\n"x,good\n',
    "is not UTF-8 text": "output,label\nGrün,good\n".encode("latin-1"),
    "is binary": b"output,label\nx\0,good\n",
    "both output and response": "output,response,label\nx,y,good\n",
    "is not a whole number": "case,repeat,label\nc1,-1,good\n",
    "the cell inputs is not JSON": "inputs,output,label\n{,x,good\n",
    "inputs is not a JSON object": "inputs,output,label\n[1],x,good\n",
    "nested too deeply": f"inputs,output,label\n{'[' * 100_000},x,good\n",
}


@pytest.mark.parametrize("sentence", BROKEN_TABLES)
def test_a_broken_table_is_one_sentence_with_its_file(tmp_path: Path, sentence: str) -> None:
    with pytest.raises(SynthesisError) as caught:
        table(tmp_path, BROKEN_TABLES[sentence])
    assert sentence in str(caught.value)
    assert caught.value.path == tmp_path / "labels.csv"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('{"output": "x", "label": 1, "label": 0}', "the row has 'label' twice; keep one"),
        ('{"output": "x", "inputs": {"thing": 1, "thing": 2}, "label": 0}', "the row has 'thing' twice"),
        ("[1, 2]", "a row is an object"),
        ('{"output": "x", "label": NaN}', "NaN is not JSON"),
        ('{"output": "x", "label": [1]}', "the label '[1]' is not one of"),
        ('{"output": "x", "inputs": [1]}', "inputs is not a JSON object"),
        ('{"output": "x", "repeat": {"a": 1}}', "is not a whole number"),
        ('{"output": "x", "label": "\\ud800"}', "half a character"),
        ('{"a":' * 60_000, "labels.jsonl:1: "),
    ],
)
def test_a_broken_line_of_json_is_one_sentence(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(SynthesisError) as caught:
        table(tmp_path, line, "labels.jsonl")
    assert sentence in str(caught.value)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("c1,,", "case 'c1' has 2 outputs that differ; name the model and the repeat"),
        ("c1,m,7", "the run has no usable output for case 'c1' of 'm' repeat 7"),
        ("c7,,", "the run has no usable output for case 'c7'"),
    ],
)
def test_a_key_that_names_no_output_or_several(tmp_path: Path, row: str, sentence: str) -> None:
    with pytest.raises(SynthesisError, match=sentence) as caught:
        resolved(tmp_path, f"case,model,repeat,label\n{row},good\n", RUN)
    assert caught.value.line == 2


def test_keys_need_a_run(tmp_path: Path) -> None:
    with pytest.raises(SynthesisError, match="no run is read whose outputs could be meant; give --run"):
        resolved(tmp_path, "case,label\nc1,good\n", RunExamples())


def test_utf_16_with_its_mark_and_a_guarded_cell_are_read(tmp_path: Path) -> None:
    rows = table(tmp_path, "output,label\n'=1+1,good\n".encode("utf-16")).rows
    assert [row.output for row in rows] == ["=1+1"]


def test_a_table_with_too_many_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SynthesisError, match="more than 100,000 rows"):
        table(tmp_path, "case,label\n" + "c1,1\n" * (MAX_ROWS + 1))


ROWS = st.lists(st.lists(st.text(max_size=8), max_size=4), max_size=5)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, head=st.permutations(["output", "label", "case", "repeat"]), junk=st.binary(max_size=30))
def test_any_bytes_give_rows_or_a_named_error(
    tmp_path: Path, rows: list[list[str]], head: list[str], junk: bytes
) -> None:
    file = tmp_path / "any.csv"
    with file.open("w", encoding="utf-8", errors="surrogatepass", newline="") as opened:
        csv.writer(opened).writerows([head, *rows])
    file.write_bytes(file.read_bytes() + junk)
    made: TableExamples | Path | None
    try:
        made = examples_of_table(read_labels(file, VARIABLES), RUN.examples, RUN, INPUTS)
    except SynthesisError as error:
        made = error.path
    assert made == file or (isinstance(made, TableExamples) and made.rows == sum(map(len, made.votes.values())))
