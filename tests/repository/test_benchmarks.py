"""Every benchmark folder is whole and consistent: three files, cases for each rule, sources in the prompt.

Most of it reads the files as plain YAML, so as not to lean on the package's own readers; the last tests do.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from promptpex.cases.file import read_suite
from promptpex.core.records import Delta, Output
from promptpex.promptfile import read
from promptpex.specs.file import read_spec
from promptpex.synthesis.examples import read_labels
from promptpex.synthesis.history.categories import TAXONOMY
from promptpex.synthesis.history.versions import deltas, from_files
from promptpex.workflow.validation.validate import validate
from tests.assertions.checked_here import check_rules

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FOLDERS = sorted(path.parent for path in BENCHMARKS.glob("*/prompt.md"))
BY_HAND = [path for path in FOLDERS if not (path / "promises.yaml").exists()]
"""Those whose spec and cases are written by hand; the others have those of a capable author, and promises by hand."""

each_benchmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
each_by_hand = pytest.mark.parametrize("folder", BY_HAND, ids=lambda path: path.name)


@cache
def _load(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def _rules(folder: Path) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = _load(folder / "prompt.spec.yaml")["rules"]
    return rules


def _cases(folder: Path) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = _load(folder / "prompt.cases.yaml")["cases"]
    return cases


def test_the_demo_needs_no_judge() -> None:
    rules = _rules(BENCHMARKS / "speech-tag")
    assert [rule["id"] for rule in rules if not rule.get("checks") or "decides" in rule] == []


@each_benchmark
def test_there_are_enough_cases_with_ids_of_their_own(folder: Path) -> None:
    ids = [case["id"] for case in _cases(folder)]
    assert len(ids) >= 24
    assert [key for key, n in Counter(ids).items() if n > 1] == []


@each_by_hand
def test_every_rule_has_a_case_and_an_inverse_case(folder: Path) -> None:
    aims = {(case["rule"], case["inverse"]) for case in _cases(folder)}
    assert aims == {(rule["id"], inverse) for rule in _rules(folder) for inverse in (False, True)}


@each_benchmark
def test_the_product_itself_finds_no_error(folder: Path) -> None:
    problems = [problem.text() for problem in validate([folder / "prompt.md"]) if problem.severity != "info"]
    assert problems == []


@each_benchmark
def test_expected_outputs_pass_every_check(folder: Path) -> None:
    spec = read_spec(folder / "prompt.spec.yaml")
    suite = read_suite(folder / "prompt.cases.yaml", spec, read(folder / "prompt.md"))
    inputs = {case.id: case.inputs for case in suite.cases}
    outputs = [Output(case=case.id, model="m", text=case.expected) for case in suite.cases if case.expected]
    verdicts = check_rules(spec.rules, outputs, lambda output: inputs[output.case])
    assert [(v.case, v.rule, v.reason) for v in verdicts if v.status != "pass"] == []


WITH_HISTORY = [path for path in FOLDERS if (path / "versions").exists()]


def _history(folder: Path) -> tuple[Delta, ...]:
    versions = from_files(read(folder / "prompt.md"), folder / "prompt.md", [folder / "versions"])
    assert versions.notices == ()
    return deltas(versions.versions)


@pytest.mark.parametrize("folder", WITH_HISTORY, ids=lambda path: path.name)
def test_a_history_has_eight_versions_that_end_with_the_prompt_and_every_kind_of_change(folder: Path) -> None:
    history = _history(folder)
    assert len(history) >= 8
    assert history[-1].version == sorted(os.listdir(folder / "versions"))[-1]
    assert {change.tag for delta in history for change in delta.changes} == {"added", "removed"}
    assert any(delta.moved for delta in history)


@pytest.mark.parametrize("folder", WITH_HISTORY, ids=lambda path: path.name)
def test_categories_by_hand_quote_what_their_version_changed(folder: Path) -> None:
    by_hand = _load(folder / "categories.yaml")["versions"]
    history = {delta.version: delta for delta in _history(folder)}
    assert [entry["version"] for entry in by_hand] == [name for name, delta in history.items() if delta.changes]
    for entry in by_hand:
        for tag in ("added", "removed"):
            text = " ".join(change.text for change in history[entry["version"]].changes if change.tag == tag)
            for category, sources in entry.get(tag, {}).items():
                assert category in {info.name for info in TAXONOMY}
                assert [source for source in sources if source not in text] == [], entry["version"]


@pytest.mark.parametrize(
    "folder", [path for path in FOLDERS if (path / "labels.csv").exists()], ids=lambda path: path.name
)
def test_labels_are_of_both_kinds_and_say_why_an_answer_is_bad(folder: Path) -> None:
    rows = read_labels(folder / "labels.csv", read(folder / "prompt.md").variables).rows
    assert min(Counter(row.value for row in rows).values()) >= 30
    assert len({(json.dumps(row.inputs), row.output) for row in rows}) == len(rows)
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        assert all(bool(row["note"]) == (row["label"] == "bad") for row in csv.DictReader(file))


@each_benchmark
def test_an_answer_beside_the_point_breaks_some_rule_by_code(folder: Path) -> None:
    spec = read_spec(folder / "prompt.spec.yaml")
    output = Output(case="c1", model="m", text="Sure! I can help you with that. [1/2] ")
    assert "fail" in {verdict.status for verdict in check_rules(spec.rules, [output], lambda output: {})}
