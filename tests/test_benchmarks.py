"""Every benchmark folder is whole and consistent: three files, cases for each rule, sources in the prompt.

Most of it reads the files as plain YAML, so as not to lean on the package's own readers; the last tests do.
"""

from __future__ import annotations

import csv
import json
import os
import re
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
from promptpex.synthesis.history.deltas import deltas
from promptpex.synthesis.history.taxonomy import TAXONOMY
from promptpex.synthesis.history.versions import from_files
from promptpex.synthesis.label_table import read_labels
from promptpex.workflow.validation.validate import validate
from tests.assertions.checked_here import check_rules

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
FOLDERS = sorted(path.parent for path in BENCHMARKS.glob("*/prompt.md"))
BY_HAND = [path for path in FOLDERS if not (path / "promises.yaml").exists()]
"""Those whose spec and cases are written by hand; the others have those of a capable author, and promises by hand."""
FILES = ("prompt.md", "prompt.spec.yaml", "prompt.cases.yaml")
ORIGINS = {"extracted", "generated", "edited", "added"}
# What JavaScript's RegExp has and Python's re reads otherwise or not at all.
FOREIGN_TO_PYTHON = re.compile(r"\\[pPk]\{|\(\?<[A-Za-z]|\\u[dD][89a-fA-F]|\[\^?\]|\\c|\\/")

each_benchmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
each_by_hand = pytest.mark.parametrize("folder", BY_HAND, ids=lambda path: path.name)


@cache
def _load(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def _prompt(folder: Path) -> str:
    return (folder / "prompt.md").read_text(encoding="utf-8")


def _rules(folder: Path) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = _load(folder / "prompt.spec.yaml")["rules"]
    return rules


def _cases(folder: Path) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = _load(folder / "prompt.cases.yaml")["cases"]
    return cases


def _variables(folder: Path) -> set[str]:
    return set(re.findall(r"\{\{-?\s*([A-Za-z_]\w*)", _prompt(folder))) or {"input"}


def _folded(text: str) -> str:
    return " ".join(text.split())


def _value(value: Any) -> str:
    """An input as text; a record is one whatever the order of its keys."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _matches(pattern: str, text: str) -> bool | None:
    """Whether the ECMAScript pattern is found in the text; None when Python reads the pattern otherwise."""
    if FOREIGN_TO_PYTHON.search(pattern):
        return None
    translated = re.sub(r"(?<!\\)((?:\\\\)*)\$(?![^\[]*\])", r"\1\\Z", pattern)
    return re.search(translated, text) is not None


def _filled(value: str, inputs: dict[str, str]) -> str:
    return re.sub(r"\{\{-?\s*(\w+)\s*-?\}\}", lambda match: inputs[match.group(1)], value)


def test_there_are_benchmarks() -> None:
    assert FOLDERS, "benchmarks/ holds no folder"


@each_benchmark
def test_the_three_files_exist(folder: Path) -> None:
    assert [name for name in FILES if not (folder / name).is_file()] == []


@each_benchmark
def test_files_name_their_prompt_and_schema(folder: Path) -> None:
    for name, schema in (("prompt.spec.yaml", "spec"), ("prompt.cases.yaml", "cases")):
        first = (folder / name).read_text(encoding="utf-8").splitlines()[0]
        assert first.endswith(f"$schema=../../promptpex/documents/schemas/{schema}.schema.json"), name
        assert _load(folder / name)["prompt"] == "prompt.md", name


@each_benchmark
def test_prompt_has_a_name_and_a_description(folder: Path) -> None:
    _, front, body = _prompt(folder).split("---\n", 2)
    matter = YAML(typ="safe", pure=True).load(front)
    assert matter["name"] == folder.name
    assert matter["description"].strip()
    assert body.strip()


@each_by_hand
def test_rules_are_whole(folder: Path) -> None:
    rules = _rules(folder)
    assert 4 <= len(rules) <= 8
    assert [key for key, n in Counter(rule["id"] for rule in rules).items() if n > 1] == []
    for rule in rules:
        assert rule["rule"].strip(), rule["id"]
        assert rule["inverse"].strip(), rule["id"]
        assert rule["rule"] != rule["inverse"], rule["id"]
        assert rule["origin"] in ORIGINS, rule["id"]
        if "decides" in rule:
            assert rule["decides"] in ("wholly", "partly"), rule["id"]
            assert rule.get("checks"), f"{rule['id']} has no checks that decide anything"


@each_by_hand
def test_rules_stand_on_words_of_the_prompt(folder: Path) -> None:
    prompt = _folded(_prompt(folder))
    strange = [rule["id"] for rule in _rules(folder) if _folded(rule["source"]) not in prompt]
    assert strange == []


@each_by_hand
def test_code_decides_half_of_the_rules(folder: Path) -> None:
    rules = _rules(folder)
    by_code = [rule for rule in rules if rule.get("checks") and rule.get("decides") != "partly"]
    assert 2 * len(by_code) >= len(rules)


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
def test_cases_are_whole(folder: Path) -> None:
    for case in _cases(folder):
        assert isinstance(case["inverse"], bool), case["id"]
        assert case["reasoning"].strip(), case["id"]
        assert case["origin"] in ORIGINS, case["id"]
        assert isinstance(case.get("expected", ""), str), case["id"]


@each_benchmark
def test_inputs_are_the_variables_of_the_prompt(folder: Path) -> None:
    variables = _variables(folder)
    assert set(_load(folder / "prompt.spec.yaml")["inputs"]) - {"*"} == variables
    for case in _cases(folder):
        assert set(case["inputs"]) == variables, case["id"]
        for value in case["inputs"].values():
            assert isinstance(value, str | dict), case["id"]
            assert _value(value).strip("{} \n"), case["id"]


@each_benchmark
def test_no_two_cases_have_the_same_inputs(folder: Path) -> None:
    seen = Counter(
        tuple(sorted((name, _folded(_value(value)).casefold()) for name, value in case["inputs"].items()))
        for case in _cases(folder)
    )
    assert [inputs for inputs, n in seen.items() if n > 1] == []


@each_benchmark
def test_inputs_satisfy_the_input_checks(folder: Path) -> None:
    checks = _load(folder / "prompt.spec.yaml").get("input_checks") or []
    for check in checks:
        assert check["variable"] in _variables(folder)
        for case in _cases(folder):
            inputs = case["inputs"]
            text = inputs[check["variable"]]
            if check["kind"] == "icontains":
                assert _filled(check["value"], inputs).casefold() in text.casefold(), case["id"]
            elif check["kind"] in ("regex", "not-regex"):
                answer = _matches(check["value"], text)
                assert answer in (None, check["kind"] == "regex"), case["id"]
            elif check["kind"] == "word-count" and isinstance(check["value"], dict):
                words = len(text.split()) if check.get("unit", "words") == "words" else None
                low, high = check["value"].get("min", 0), check["value"].get("max", float("inf"))
                assert words is None or low <= words <= high, case["id"]


@each_benchmark
def test_regex_checks_are_patterns(folder: Path) -> None:
    for rule in _rules(folder):
        for check in rule.get("checks", []):
            if check["kind"].removeprefix("not-") == "regex":
                assert check["value"] == check["value"].strip(), rule["id"]
                assert not check["value"].startswith("(?i)"), f"{rule['id']}: ECMAScript has no inline flags"
                _matches(check["value"], "any text")


@each_benchmark
def test_expected_outputs_hold_the_regex_checks(folder: Path) -> None:
    checks = [
        (rule["id"], check)
        for rule in _rules(folder)
        for check in rule.get("checks", [])
        if check["kind"] in ("regex", "not-regex")
    ]
    for case in _cases(folder):
        if "expected" not in case:
            continue
        for rule_id, check in checks:
            answer = _matches(check["value"], case["expected"])
            assert answer in (None, check["kind"] == "regex"), (case["id"], rule_id, check["value"])


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
