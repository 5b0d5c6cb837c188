"""``promptpex check`` on several files: patterns, what gzip has packed, Parquet; and what is wrong with them."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from promptpex.assertions import rows_to_check
from promptpex.assertions.batch import CHUNK
from promptpex.cli.main import run_cli
from promptpex.codecs.files import packed

CHECKS = "- {type: contains, value: hello}\n- {type: javascript, value: 'output.length > 8'}\n"
Printed = tuple[int, str, str]


def lines_of(start: int, count: int) -> str:
    return "".join(json.dumps({"output": f"{number} hello"}) + "\n" for number in range(start, start + count))


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two days of logs, one of them packed, and one in Parquet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checks.yaml").write_text(CHECKS)
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "b.jsonl").write_text(lines_of(1000, CHUNK + 9))
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines_of(0, 7).encode()))
    (folder / "c.csv.gz").write_bytes(gzip.compress(b"id,output\nx,hello there\ny,bye\n"))
    return folder


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> Printed:
    code = run_cli(["check", *arguments, "--assertions", "checks.yaml", "--json"])
    return code, *capsys.readouterr()


def test_a_pattern_stands_for_files_in_the_order_of_their_names(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = check(capsys, "logs/*")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [row["id"] for row in (rows[0], rows[6], rows[7])] == [
        "logs/a.jsonl.gz:1",
        "logs/a.jsonl.gz:7",
        "logs/b.jsonl:1",
    ]
    assert [(row["id"], row["status"]) for row in rows[-2:]] == [("x", "pass"), ("y", "fail")]
    assert len(rows) == 7 + CHUNK + 9 + 2
    assert err.splitlines()[-1] == f"{CHUNK + 9 + 1} pass, 8 fail, 0 unscored"
    assert check(capsys, "logs/*", "--workers", "2") == (code, out, err)
    named = ("logs/a.jsonl.gz", "logs/b.jsonl", "./logs/b.jsonl", "logs/*")
    assert check(capsys, *named) == (code, out, err), "each file once"


@pytest.mark.long
def test_a_cluster_prints_what_one_process_does(ray: str, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = check(capsys, "logs/*")
    assert check(capsys, "logs/*", "--engine", "ray", "--workers", "2") == here
    (logs / "b.jsonl").write_text(lines_of(0, 3 * CHUNK) + "{\n")
    wrong = check(capsys, "logs/*", "--engine", "ray")
    assert wrong == check(capsys, "logs/*")
    assert wrong[2].startswith(f"promptpex: logs/b.jsonl:{3 * CHUNK + 1}: the line is not valid JSON")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["logs/*.txt"], "logs/*.txt: no file fits this pattern"),
        (["logs/a.jsonl.gz", "logs/no.jsonl"], "logs/no.jsonl: there is no such file"),
        (["logs/b.jsonl", "-"], "a run's folder, and stdin, are checked alone"),
        (["logs", "logs/b.jsonl"], "a run's folder, and stdin, are checked alone"),
    ],
)
def test_files_that_cannot_be_checked_are_named_before_anything_is(
    arguments: list[str], message: str, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = check(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"promptpex: {message}")


def test_links_of_a_checkout_lead_a_pattern_nowhere(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (logs / "again").symlink_to(logs, target_is_directory=True)
    (logs / "more").symlink_to(logs, target_is_directory=True)
    once = check(capsys, "logs/*.gz")
    assert check(capsys, "logs/**/*.gz") == once


PACKED = gzip.compress(lines_of(0, 3000).encode())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"output": "not packed"}\n', "it cannot be unpacked (Not a gzipped file"),
        (PACKED[: len(PACKED) // 2], "it is cut off"),
        (PACKED[:2000] + b"\\0" * 2000 + PACKED[4000:], "it cannot be unpacked"),
        (b"", ""),
    ],
)
def test_a_damaged_packed_file_is_named(
    data: bytes, message: str, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (logs / "a.jsonl.gz").write_bytes(data)
    code, _, err = check(capsys, "logs/a.jsonl.gz")
    assert code == (2 if message else 0)
    assert message in err
    assert not message or "logs/a.jsonl.gz" in err


def test_a_small_file_does_not_become_gigabytes(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 1_000_000)
    monkeypatch.setattr(rows_to_check, "LONGEST_LINE", 100_000)
    (logs / "a.jsonl.gz").write_bytes(gzip.compress(b"\n" * 2_500_000))
    assert "unpacks to more than 250 times its length" in check(capsys, "logs/a.jsonl.gz")[2]
    (logs / "a.jsonl.gz").write_bytes(gzip.compress(b'{"output": "' + b"x" * 900_000))
    assert "a.jsonl.gz:1: the line is longer than 100,000 bytes" in check(capsys, "logs/a.jsonl.gz")[2]


def test_parquet_has_the_values_of_json(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra parquet)")
    parquet = pytest.importorskip("pyarrow.parquet")
    day = datetime(2026, 1, 2, tzinfo=UTC)
    table = {
        "id": ["p", None],
        "output": ["hello there", "bye"],
        "time": [day, day],
        "cost": [Decimal("0.5"), None],
        "vars": [{"raw": b"a", "odd": b"\xff"}, None],
    }
    parquet.write_table(arrow.table(table), logs / "d.parquet")
    first, second = rows_to_check.read(logs / "d.parquet")
    assert (first.id, first.output, first.time) == ("p", "hello there", "2026-01-02T00:00:00+00:00")
    assert (dict(first.vars), first.measured["cost"]) == ({"raw": "a", "odd": "/w=="}, 0.5)
    assert (second.id, second.line, second.file) == (2, 2, logs / "d.parquet")
    code, out, _ = check(capsys, "logs/*.parquet", "logs/c.csv.gz")
    assert code == 1
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["p", "logs/d.parquet:2", "x", "y"]
    (logs / "d.parquet").write_bytes(b"PAR1 not really PAR1")
    assert "the file of rows cannot be read as Parquet" in check(capsys, "logs/d.parquet")[2]
    os.unlink(logs / "d.parquet")


CONFIG = """
vars: {limit: 9}
defaultTest:
  threshold: 1
  assert: {type: javascript, value: 'output.length <= context.vars.limit'}
tests:
  - vars: {country: France}
    assert: [{type: equals, value: Paris}]
  - vars: {country: [Spain, Italy]}
    threshold: 0.5
    assert: [{type: contains, value: o}, {type: contains, value: M}]
  - vars: {country: France, polite: true}
    assert: {type: contains, value: please}
"""


def _checked(
    folder: Path, rows: list[Any], capsys: pytest.CaptureFixture[str], *flags: str, config: str = CONFIG
) -> Any:
    (folder / "checks.yaml").write_text(config, encoding="utf-8")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    arguments = ["check", str(folder / "rows.jsonl"), "--assertions", str(folder / "checks.yaml"), "--json", *flags]
    run_cli(arguments)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


ROWS = [
    {"output": "Paris", "vars": {"country": "France", "more": 1}},
    {"output": "Madrid", "vars": {"country": "France"}},
    {"output": "Madrid", "vars": {"country": "Spain"}},
    {"output": "Roma", "vars": {"country": "Italy"}},
    {"output": "Paris", "vars": {"country": "France", "polite": True}},
    {"output": "Berlin", "vars": {"country": "Germany"}},
    {"output": "a very long answer", "vars": {"country": "Spain"}},
    {"output": "x"},
]
STATUSES = ["pass", "fail", "pass", "pass", "fail", "unscored", "fail", "unscored"]


@pytest.mark.parametrize("config", ["tests:\n{}", "{}"])
def test_a_list_of_tests_is_what_its_file_is(tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str) -> None:
    tests = "- vars: {a: x}\n  assert: {type: contains, value: '{{a}}'}\n- vars: {a: y}\n  assert: [{type: is-json}]\n"
    rows = [{"output": "ax", "vars": {"a": "x"}}, {"output": "x", "vars": {"a": "y"}}, {"output": "x", "vars": {}}]
    made = _checked(tmp_path, rows, capsys, config=config.format(tests))
    assert [row["status"] for row in made] == ["pass", "fail", "unscored"]


def test_a_mistake_in_a_list_of_tests_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "checks.yaml").write_text("- vars: {a: x}\n  assert:\n    - {type: nonsense}\n", encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("{}\n", encoding="utf-8")
    run_cli(["check", str(tmp_path / "rows.jsonl"), "--assertions", str(tmp_path / "checks.yaml")])
    assert "checks.yaml:3" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [(), ("--workers", "2")])
def test_each_row_is_checked_by_its_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
) -> None:
    made = _checked(tmp_path, ROWS, capsys, *flags)
    assert [row["status"] for row in made] == STATUSES
    assert [row.get("unscored") for row in made if row["status"] == "unscored"] == ["no-test", "no-test"]
    assert [len(row["assertions"]) for row in made[:3]] == [2, 2, 3]


def test_tests_that_demand_nothing_of_their_own_choose_no_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = "assert: [{type: contains, value: a}]\ntests: [{vars: {x: 1}}, {vars: {x: 2}}]\n"
    made = _checked(tmp_path, [{"output": "a"}, {"output": "b", "vars": {"x": 2}}], capsys, config=config)
    assert [row["status"] for row in made] == ["pass", "fail"]


@pytest.mark.parametrize("tests", ["file://tests.csv", "[file://a.yaml, {vars: {x: 1}}]"])
def test_tests_in_files_of_their_own_are_for_an_import(
    tmp_path: Path, tests: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"output": "a"}\n', encoding="utf-8")
    (tmp_path / "c.yaml").write_text(f"assert: [{{type: contains, value: a}}]\ntests: {tests}\n", encoding="utf-8")
    assert run_cli(["check", str(tmp_path / "rows.jsonl"), "--assertions", str(tmp_path / "c.yaml")]) == 2
    message = capsys.readouterr().err
    assert "promptpex import promptfoo" in message
    assert "c.yaml:2:" in message
