"""``promptpex check``: files in, verdicts out, exit codes, errors with file and line."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from tests.assertions.test_agreement import agrees, asserts, cases, needs_cases, why_not


def rows_file(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_rows_bring_their_own_assertions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = rows_file(
        tmp_path,
        [
            {"id": "a", "output": "hello", "assert": [{"type": "contains", "value": "{{w}}"}], "vars": {"w": "hell"}},
            {"id": 2, "output": {"k": 1}, "assert": [{"type": "is-json"}, {"type": "nosuch"}]},
            {"output": "x", "assert": [{"type": "cost", "threshold": 1}], "cost": 0.5},
            {"id": "t", "output": "x", "assert": [{"type": "contains", "value": "y"}], "threshold": 0},
            {"id": "none", "output": None, "assert": [{"type": "contains", "value": "y"}]},
            {"id": "odd", "output": "x", "assert": "contains y"},
            {"id": "one", "output": "x", "assert": {"type": "contains", "value": "x"}},
        ],
    )
    assert run_cli(["check", str(path), "--json"]) == 0
    rows_out = lines(capsys.readouterr().out)
    assert [(row["id"], row["status"]) for row in rows_out] == [
        ("a", "pass"),
        (2, "unscored"),
        (3, "pass"),
        ("t", "pass"),
        ("none", "unscored"),
        ("odd", "unscored"),
        ("one", "pass"),
    ]
    assert {"id", "status", "score", "reason", "assertions"} <= set(rows_out[0])
    assert rows_out[1]["assertions"][0]["status"] == "pass"


@pytest.mark.parametrize("text", ["id,output\na,{long}\n", 'id,output\na,"{long}'], ids=["whole", "broken"])
def test_the_longest_cell_is_the_commands_own_affair(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text.format(long="x" * 300_000), encoding="utf-8")
    (tmp_path / "checks.yaml").write_text("- {type: contains, value: x}\n", encoding="utf-8")
    csv.field_size_limit(131_072)
    code = run_cli(["check", str(path), "--assertions", str(tmp_path / "checks.yaml"), "-q"])
    assert code == (0 if text.endswith("\n") else 2)
    assert csv.field_size_limit() == 131_072


@needs_cases
def test_the_recorded_cases_through_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = ("output", "vars", "cost", "latency_ms", "logprobs", "finish_reason")
    chosen = [case for case in cases() if why_not(case) is None and case["tier"] != "extra"]
    rows = [
        {"id": case["id"], "assert": asserts(case), "threshold": case["test_threshold"], "prompt": "p"}
        | {key: case[key] for key in keys}
        for case in chosen
    ]
    assert run_cli(["check", str(rows_file(tmp_path, rows)), "--json", "-q"]) == 1
    rows_out = lines(capsys.readouterr().out)
    assert [row["id"] for row in rows_out] == [case["id"] for case in chosen]
    for case, row in zip(chosen, rows_out, strict=True):
        assert agrees(case, _Row(row)), (case["id"], row)  # type: ignore[arg-type]


class _Row:
    """A printed row with the names of a report."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.status = row["status"]
        self.unscored = row.get("unscored")
        self.results = row["assertions"]


@pytest.mark.parametrize(
    "text",
    [
        "- {type: contains, value: hello}\n- {kind: not-contains, value: bye}\n",
        "assert:\n  - type: contains\n    value: hello\n",
        '{"assert": [{"type": "contains", "value": "hello"}]}',
        '{"assert": {"type": "contains", "value": "hello"}}',
        '{"tests": [{"vars": {"w": "hello"}, "assert": [{"type": "levenshtein", "threshold": 0, "value": "{{w}}"}]}]}',
        "defaultTest: {vars: {w: bye}}\ntests:\n  - {vars: {w: hello}, assert: [{type: contains, value: '{{w}}'}]}\n",
        "defaultTest:\n  assert:\n    - {type: icontains, value: HELLO}\ntests: []\n",
        "assertionTemplates:\n  t: {type: contains, value: hello}\nassert:\n  - $ref: '#/assertionTemplates/t'\n",
        "assert:\n  - {type: contains, value: 'file://value.txt'}\n",
        "prompt: p.md\nrules:\n  - id: r1\n    rule: Greets.\n    checks:\n      - {kind: contains, value: hello}\n",
    ],
)
def test_assertion_files_in_every_shape(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "assertions.yaml"
    path.write_text(text, encoding="utf-8")
    (tmp_path / "value.txt").write_text(" hello\n", encoding="utf-8")
    rows = rows_file(tmp_path, [{"id": "a", "output": "hello"}, {"id": "b", "output": "bye"}])
    assert run_cli(["check", str(rows), "--assertions", str(path), "--json"]) == 1
    assert [row["status"] for row in lines(capsys.readouterr().out)] == ["pass", "fail"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("- {type: contains, value: a}\n- {type: regex, value: '['}\n", 2, "does not compile"),
        (
            "assert:\n  - type: contains\n    value: a\n  - type: containz\n    value: b\n",
            4,
            "did you mean 'contains'?",
        ),
        ("assert:\n  - type: assert-set\n    assert:\n      - {type: cost}\n", 4, "needs a threshold"),
        ("rules:\n  - id: r1\n    checks:\n      - {kind: is-json, value: {type: nubmer}}\n", 4, "schema"),
        ("assert: contains\n", 1, "list of assertions"),
        ("vars: [a]\nassert: [{type: contains, value: a}]\n", 1, "vars must be a mapping"),
        ("- a\n- [\n", 3, "YAML"),
        ("assert:\n  - $ref: '#/assertionTemplates/missing'\n", 2, "no assertion template"),
    ],
)
def test_a_bad_assertion_is_refused_with_file_and_line(
    text: str, line: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "assertions.yaml"
    path.write_text(text, encoding="utf-8")
    rows = rows_file(tmp_path, [{"id": "a", "output": "hello"}])
    assert run_cli(["check", str(rows), "--assertions", str(path)]) == 2
    shown = capsys.readouterr()
    assert f"{path}:{line}: " in shown.err
    assert message in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows.jsonl", '{"output": "a"}\n{"output": \n', ":2: the line is not valid JSON"),
        ("rows.jsonl", "[1]\n", ":1: a row must be an object"),
        ("rows.csv", "id,text2\na,b\n", ":1: the CSV file has no column output"),
        ("rows.csv", "id,output,cost\na,b,cheap\n", ":2: the cell cost is not JSON"),
        ("rows.csv", "id,output\na,b,c\n", ":2: the row has 3 cells"),
        ("rows.csv", 'id,output\na,"b\n', ":2: this is not valid CSV"),
    ],
)
def test_bad_rows_are_refused_with_file_and_line(
    name: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    checks = tmp_path / "a.yaml"
    checks.write_text("- {type: contains, value: a}\n", encoding="utf-8")
    assert run_cli(["check", str(path), "--assertions", str(checks), "--json"]) == 2
    assert str(path) + message in capsys.readouterr().err


def test_a_run_folder_brings_its_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = [
        {"case": "c1", "model": "m", "text": "the fox", "cost_usd": 0.1},
        {"case": "c1", "model": "m", "repeat": 1, "error": "timed-out", "message": "No answer in time."},
    ]
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in outputs), encoding="utf-8")
    suite = {"suite": {"prompt": "p.md", "cases": [{"id": "c1", "inputs": {"word": "fox"}}]}}
    (tmp_path / "inputs.json").write_text(json.dumps(suite), encoding="utf-8")
    checks = tmp_path / "a.yaml"
    checks.write_text("- {type: contains, value: '{{word}}'}\n- {type: cost, threshold: 1}\n", encoding="utf-8")
    assert run_cli(["check", str(tmp_path), "--assertions", str(checks), "--json"]) == 0
    rows_out = lines(capsys.readouterr().out)
    assert [(row["id"], row["status"]) for row in rows_out] == [("c1/m/0", "pass"), ("c1/m/1", "unscored")]
    assert rows_out[1]["unscored"] == "timed-out"
    assert run_cli(["check", str(tmp_path), "--assertions", str(checks), "--fail-unscored"]) == 1


def test_a_run_folder_is_checked_by_its_own_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = [{"case": "c1", "model": "m", "text": text} for text in ("the fox", "a wolf")]
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in outputs), encoding="utf-8")
    rules = [{"id": "r1", "rule": "It says it.", "checks": [{"kind": "contains", "value": "{{word}}"}]}]
    made = {"spec": {"prompt": "p.md", "rules": rules}, "suite": {"cases": [{"id": "c1", "inputs": {"word": "fox"}}]}}
    inputs = tmp_path / "inputs.json"
    inputs.write_text(json.dumps(made), encoding="utf-8")
    assert run_cli(["check", str(tmp_path), "--json"]) == 1
    assert [row["status"] for row in lines(capsys.readouterr().out)] == ["pass", "fail"]
    inputs.write_text(json.dumps(made).replace("contains", "contians"), encoding="utf-8")
    assert run_cli(["check", str(tmp_path)]) == 2
    assert "inputs.json:1: there is no kind 'contians'" in capsys.readouterr().err
    for damaged in ("{}", "[]", "{", '{"suite": {}, "spec": 3}'):
        inputs.write_text(damaged, encoding="utf-8")
        assert run_cli(["check", str(tmp_path)]) == 2
        assert "Traceback" not in capsys.readouterr().err


HOSTILE = ["=1+1", "+cmd", "-x", "@y", "\tz", "\rw", "]]>&<\x00\ud83d\x1b[31m", 'quote"\nline']


def test_csv_and_junit_hold_hostile_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": text, "output": "x", "assert": [{"type": "equals", "value": text}]} for text in HOSTILE]
    path = rows_file(tmp_path, rows)
    assert run_cli(["check", str(path), "--format", "csv"]) == 1
    table = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert len(table) == len(HOSTILE) + 1
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for line in table for cell in line)
    assert run_cli(["check", str(path), "--format", "junit"]) == 1
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert root.get("failures") == str(len(HOSTILE))
    assert len(list(root.iter("testcase"))) == len(HOSTILE)
    assert run_cli(["check", str(path)]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_a_file_that_cannot_be_read_leaves_no_half_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    assert run_cli(["check", str(path)]) == 2
    assert capsys.readouterr().out == ""
    path.write_bytes(b"")
    assert run_cli(["check", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out.split() == ["id", "status", "score", "reason"]
    assert "0 pass, 0 fail, 0 unscored" in shown.err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_every_row_is_a_line(tmp_path: Path) -> None:
    import pty

    path = rows_file(tmp_path, [{"output": "x", "assert": [{"type": "contains", "value": "long " * 40}]}])
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80"}
    command = [sys.executable, "-m", "promptpex", "check", str(path), "-q"]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 1
    assert len(shown.splitlines()) == 2
    assert max(len(line) for line in shown.splitlines()) < 80


def test_numbers_out_of_range_are_reported_of_their_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nines = "9" * 4000
    path = tmp_path / "rows.jsonl"
    path.write_text(
        f'{{"output": "x", "latency_ms": 1e999, "cost": {nines}, "logprobs": [1e999], "threshold": 0.5}}\n'
        f'{{"output": "x", "threshold": {nines}}}\n{{"output": "x", "threshold": -1e999}}\n',
        encoding="utf-8",
    )
    checks = tmp_path / "checks.yaml"
    checks.write_text("- {kind: latency, threshold: 5}\n- {kind: cost, threshold: 5}\n", encoding="utf-8")
    assert run_cli(["check", str(path), "--assertions", str(checks), "--json", "-q"]) == 0
    first, *others = lines(capsys.readouterr().out)
    assert [result["unscored"] for result in first["assertions"]] == ["no-latency", "no-cost"]
    assert {(row["unscored"], row["reason"]) for row in others} == {
        ("bad-row", "the threshold of a row is out of range")
    }
    path.write_text(f'{{"output": {"9" * 5000}}}\n', encoding="utf-8")
    assert run_cli(["check", str(path), "--assertions", str(checks), "-q"]) == 2
    assert "the line is not valid JSON: a number has too many digits" in capsys.readouterr().err


def test_templates_of_assertions_that_name_each_other_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two names a set, forty sets deep, were 2^40 assertions; one that named itself, without end."""
    path = rows_file(tmp_path, [{"output": "x"}])
    refer = "{{$ref: '#/assertionTemplates/{0}'}}".format
    for deep in (0, 40):
        templates = [
            f"  t{n}: {{type: assert-set, assert: [{refer(f't{n + 1}')}, {refer(f't{n + 1}')}]}}" for n in range(deep)
        ]
        templates += [f"  t{deep}: {{type: assert-set, assert: [{refer(f't{deep}')}]}}"]
        text = "assertionTemplates:\n" + "\n".join(templates) + f"\nassert: [{refer('t0')}]\n"
        (tmp_path / "checks.yaml").write_text(text, encoding="utf-8")
        assert run_cli(["check", str(path), "--assertions", str(tmp_path / "checks.yaml"), "-q"]) == 2
        assert "an assert-set cannot stand inside an assert-set" in capsys.readouterr().err
