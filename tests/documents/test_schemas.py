"""The shipped schemas are what the records say, explain every key, and say of files what their readers say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft7Validator

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import file_schemas  # noqa: E402
from file_schemas.checks import kinds  # noqa: E402

from promptpex.cases.file import write_suite  # noqa: E402
from promptpex.core.errors import InputError  # noqa: E402
from promptpex.core.records import Spec, Suite  # noqa: E402
from promptpex.documents import yaml_reader  # noqa: E402
from promptpex.specs import file as spec_file  # noqa: E402
from promptpex.specs.file import write_spec  # noqa: E402
from tests.cases.test_case_file import suites  # noqa: E402
from tests.documents.least_files import CHECK, HOSTS, keys, reader_errors  # noqa: E402
from tests.documents.shipped import schema_errors, shipped  # noqa: E402
from tests.specs.test_spec_file import specs  # noqa: E402

BENCHMARKS = ROOT / "benchmarks"


def load(path: Path) -> Any:
    return yaml_reader.read(path, error=InputError, what="file").data


@pytest.mark.parametrize("name", file_schemas.NAMES)
def test_the_shipped_schema_is_what_the_records_say(name: str) -> None:
    Draft7Validator.check_schema(file_schemas.schema(name))
    assert shipped(name) == file_schemas.schema(name), "run python scripts/write_schemas.py and commit what it writes"


@pytest.mark.parametrize("name", file_schemas.NAMES)
def test_every_key_has_a_description_and_an_example(name: str) -> None:
    lacking = [
        f"{owner}.{key}"
        for owner, key, about in keys(name)
        if not about.get("description", "").endswith(".") or "`" in about["description"] or not about.get("examples")
    ]
    assert lacking == []
    assert len(list(keys(name))) > 10


@pytest.mark.parametrize("name", file_schemas.NAMES)
def test_every_example_is_accepted_by_schema_and_reader(name: str, tmp_path: Path) -> None:
    wrong = {}
    for owner, key, about in keys(name):
        for example in about["examples"]:
            data = HOSTS[name][owner](key, example)
            messages = schema_errors(name, data) + reader_errors(name, data, tmp_path)
            if messages:
                wrong[f"{owner}.{key}: {example}"] = messages
    assert wrong == {}


@pytest.mark.parametrize("name", ["spec", "cases"])
def test_all_benchmarks_are_valid(name: str) -> None:
    paths = sorted(BENCHMARKS.glob(f"*/prompt.{name}.yaml"))
    assert paths
    assert {path.parent.name: schema_errors(name, load(path)) for path in paths} == {
        path.parent.name: [] for path in paths
    }


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=specs, suite=suites)
def test_what_we_write_is_valid(tmp_path: Path, spec: Spec, suite: Suite) -> None:
    for name, path in (("spec", tmp_path / "a.yaml"), ("cases", tmp_path / "b.yaml")):
        path.unlink(missing_ok=True)
        _ = write_spec(path, spec) if name == "spec" else write_suite(path, suite)
        assert schema_errors(name, load(path)) == []


RULE = {"id": "r1", "rule": "One."}
CASE = {"id": "c1", "inputs": {"a": "x"}}


def with_check(**check: Any) -> dict[str, Any]:
    return {"prompt": "p", "rules": [{**RULE, "checks": [check]}]}


def with_case(**case: Any) -> dict[str, Any]:
    return {"prompt": "p", "cases": [{**CASE, **case}]}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("spec", {"prompt": "p", "rules": [{**RULE, "checks": [{"type": "regex", "value": "x"}]}], "intent": None}),
        (
            "spec",
            {"prompt": "p", "rules": [RULE], "inputs": {"a": "one sentence", "b": ["x"], "c": {"type": "number"}}},
        ),
        ("spec", {"prompt": "p", "rules": [{"id": 1, "rule": "One.", "inverse": None, "origin": None}]}),
        ("spec", with_check(kind="assert-set", asserts=[CHECK])),
        ("spec", with_check(kind="llm-rubric", value="It is polite.")),
        ("cases", {"prompt": "p", "cases": [{"id": 7, "rule": None, "inputs": {"n": 7}, "expected": 7}]}),
        ("cases", with_case(also_right=[], match="numeric:1%")),
    ],
)
def test_people_s_shapes_are_accepted(name: str, data: Any, tmp_path: Path) -> None:
    assert schema_errors(name, data) == []
    assert reader_errors(name, data, tmp_path) == []


MISTAKES: list[tuple[str, Any]] = [
    ("spec", {"prompt": "p", "ruels": []}),
    ("spec", {"prompt": "p", "rules": []}),
    ("spec", {"prompt": "p", "rules": {"r1": "One."}}),
    ("spec", {"prompt": "p", "rules": ["One."]}),
    ("spec", {"prompt": "p", "rules": [{"id": "r1"}]}),
    ("spec", {"prompt": ["p"], "rules": [RULE]}),
    ("spec", {"prompt": "p", "rules": [{**RULE, "check": [CHECK]}]}),
    ("spec", {"prompt": "p", "rules": [{**RULE, "checks": CHECK}]}),
    ("spec", {"prompt": "p", "rules": [{**RULE, "checks": ["contains x"]}]}),
    ("spec", {"prompt": "p", "rules": [{**RULE, "origin": "made"}]}),
    ("spec", {"prompt": "p", "rules": [{**RULE, "needs": "both"}]}),
    ("spec", {"prompt": "p", "rules": [{**RULE, "decides": "mostly"}]}),
    ("spec", {"prompt": "p", "rules": [{**RULE, "id": "a b"}]}),
    ("spec", {"prompt": "p", "rules": [{**RULE, "when": [CHECK]}]}),
    ("spec", {"prompt": "p", "rules": [RULE], "inputs": ["question"]}),
    ("spec", {"prompt": "p", "rules": [RULE], "inputs": {"a": {"tipe": "text"}}}),
    ("spec", {"prompt": "p", "rules": [RULE], "inputs": {"a": {"type": "string"}}}),
    ("spec", {"prompt": "p", "rules": [RULE], "inputs": {"a": {"minimum": "one"}}}),
    ("spec", {"prompt": "p", "rules": [RULE], "input_checks": [CHECK]}),
    ("spec", with_check(value="x")),
    ("spec", with_check(kind="is-jsonn")),
    ("spec", with_check(kind="Contains", value="x")),
    ("spec", with_check(kind="not_contains", value="x")),
    ("spec", with_check(kind="contains")),
    ("spec", with_check(kind="contains", vaule="x")),
    ("spec", with_check(kind=None, value="x")),
    ("spec", with_check(kind="word-count", value=3, unit=None)),
    ("spec", with_check(kind="contains", value=["x", "y"])),
    ("spec", with_check(kind="not-contains-any", value=3)),
    ("spec", with_check(kind="regex", value=["x"])),
    ("spec", with_check(kind="cost", value=0.1)),
    ("spec", with_check(kind="word-count", value={"max": 3}, unit="paragraphs")),
    ("spec", with_check(kind="word-any", value="a", ignore_case="very")),
    ("spec", with_check(kind="assert-set", value=[CHECK])),
    ("spec", with_check(kind="levenshtein", value="x", threshold="high")),
    ("cases", {"prompt": "p", "case": []}),
    ("cases", {"prompt": "p", "cases": {"c1": {"inputs": {}}}}),
    ("cases", {"prompt": "p", "cases": [{"id": "c1"}]}),
    ("cases", with_case(inputs="hello")),
    ("cases", with_case(inputs=["hello"])),
    ("cases", with_case(input={"a": "x"})),
    ("cases", with_case(also_right=["B"])),
    ("cases", with_case(expected=["A", "B"])),
    ("cases", with_case(expected="A", also_right="B")),
    ("cases", with_case(match="fuzzy")),
    ("cases", with_case(inverse="sometimes")),
    ("cases", with_case(rating=5)),
    ("cases", with_case(rating={"severity": 6, "importance": 1})),
    ("candidates", {"prompt": "p", "criteria": [{"id": "a"}]}),
    ("candidates", {"prompt": "p", "criteria": [{"id": "a", "text": "One.", "by": "people"}]}),
    ("candidates", {"prompt": "p", "candidates": [{"id": "a", "check": [CHECK]}]}),
    ("candidates", {"prompt": "p", "candidates": [{"id": "a", "check": CHECK, "choice": "maybe"}]}),
    ("prompt", {"effort": "maximum"}),
    ("prompt", {"language": "Vietnamese, please"}),
    ("prompt", {"instructions": {"rule": "Be brief."}}),
    ("prompt", {"instructions": "Be brief."}),
    ("prompt", {"samples": 3}),
    ("prompt", {"scenarios": ["angry"]}),
    ("prompt", {"scenarios": {"angry": {"constraint": "Be angry."}}}),
    ("prompt", {"inputs": "word"}),
    ("prompt", {"inputs": [{"type": "text"}]}),
    ("prompt", {"inputs": {"word": {"minimum": "one"}}}),
    ("prompt", {"messages": [{"role": "bot", "content": "Hello."}]}),
    ("settings", {"repeat": 3}),
    ("settings", {"repeats": 0}),
    ("settings", {"repeats": "often"}),
    ("settings", {"models": ""}),
    ("settings", {"models": {"small": "openai/x"}}),
    ("settings", {"models": {"small": {"model": "openai/x", "temprature": 0}}}),
    ("settings", {"models": {"small": {"api_base": "http://127.0.0.1:8080/v1"}}}),
    ("settings", {"tolerance": 5}),
    ("settings", {"tolerance": "five percent"}),
    ("settings", {"confidence": 95}),
    ("settings", {"effort": "max"}),
    ("settings", {"judge_mode": "both"}),
    ("settings", {"match": "fuzzy"}),
    ("settings", {"prices": {"m": 3}}),
    ("settings", {"prices": {"m": {"input": 3}}}),
    ("settings", {"weights": {"rule": 1.5}}),
    ("settings", {"scenarios": ["angry"]}),
    ("settings", {"scenarios": [{"constraints": ["Be angry."]}]}),
    ("settings", {"fresh": "maybe"}),
]


@pytest.mark.parametrize(("name", "data"), MISTAKES)
def test_mistakes_are_refused_by_schema_and_reader(name: str, data: Any, tmp_path: Path) -> None:
    assert reader_errors(name, data, tmp_path) != []
    assert schema_errors(name, data) != []


def test_every_kind_is_explained() -> None:
    for part in ("Check", "InputCheck"):
        kind = shipped("spec")["definitions"][part]["properties"]["kind"]
        assert len(kind["enumDescriptions"]) == len(kind["enum"]) == len(set(kind["enumDescriptions"])) == len(kinds())
        assert kind["enum"] == kinds()


VALUES: tuple[Any, ...] = (None, "x", 3, ["a"], {"min": 1})
LIKE_VALUES = ("language", "expected", "word-count", "is-xml", "contains-xml", "is-json", "contains-json")
"""Kinds that take some texts or objects and not others."""


def test_schema_and_reader_agree_on_the_values_of_every_kind(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = []
    for kind in kinds():
        for value in VALUES:
            if kind.removeprefix("not-") not in LIKE_VALUES:
                check = {"kind": kind, **({} if value is None else {"value": value})}
                rules.append({"id": f"r{len(rules)}", "rule": "One.", "checks": [check]})
    path = tmp_path / "prompt.spec.yaml"
    path.write_text("prompt: p\nrules:\n" + "".join(f"- {json.dumps(rule)}\n" for rule in rules), encoding="utf-8")
    refused = {problem.line for problem in spec_file.examine(path).problems if problem.severity == "error"}
    data = {"prompt": "p", "rules": rules}
    by_schema = {error.absolute_path[1] for error in Draft7Validator(shipped("spec")).iter_errors(data)}
    differing = [
        rule["checks"] for number, rule in enumerate(rules) if (number + 3 in refused) != (number in by_schema)
    ]
    assert differing == []
    assert len(refused) > 100
