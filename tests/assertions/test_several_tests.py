"""``promptpex check`` with a file of promptfoo's that has several tests: a row is checked by the test that it is of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli

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
