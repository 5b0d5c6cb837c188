"""The shipped schemas are what the records say, and they accept what people write and refuse what they mistype."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from promptpex.cases.file import write_suite
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Check, Rule, Spec, Suite, VariableSpec
from promptpex.documents import schemas, yaml_reader
from promptpex.specs.file import write_spec
from tests.documents.shipped import shipped_schema

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def _errors(name: str, data: Any) -> list[str]:
    validator = Draft202012Validator(json.loads(shipped_schema(name)))
    return [error.message for error in validator.iter_errors(data)]


def _load(path: Path) -> Any:
    return yaml_reader.read(path, error=InputError, what="file").data


@pytest.mark.parametrize("name", schemas.NAMES)
def test_the_shipped_schema_is_what_the_records_say(name: str) -> None:
    Draft202012Validator.check_schema(schemas.schema(name))
    shipped = json.loads(shipped_schema(name))
    assert shipped == schemas.schema(name), "run python -m promptpex.documents.schemas and commit what it writes"


@pytest.mark.parametrize("name", ["spec", "cases"])
def test_all_benchmarks_are_valid(name: str) -> None:
    paths = sorted(BENCHMARKS.glob(f"*/prompt.{name}.yaml"))
    assert paths
    assert {path.parent.name: _errors(name, _load(path)) for path in paths} == {path.parent.name: [] for path in paths}


def test_what_we_write_is_valid(tmp_path: Path) -> None:
    check = Check.model_validate({"kind": "assert-set", "assert": [{"kind": "contains", "value": "x"}]})
    inputs = {"a": VariableSpec(constraints=("x",)), "b": VariableSpec(type="enum", values=("p", 1))}
    spec = Spec(prompt="prompt.md", inputs=inputs, rules=(Rule(id="r1", rule="One.", checks=(check,), stale=True),))
    write_spec(tmp_path / "a.yaml", spec)
    assert _errors("spec", _load(tmp_path / "a.yaml")) == []
    write_suite(tmp_path / "b.yaml", Suite(prompt="prompt.md", cases=(Case(id="1", rule="r1", inputs={"a": [1]}),)))
    assert _errors("cases", _load(tmp_path / "b.yaml")) == []


RULE = {"id": "r1", "rule": "One."}


@pytest.mark.parametrize(
    "data",
    [
        {"prompt": "p", "rules": [{**RULE, "checks": [{"type": "regex", "value": "x"}]}], "intent": None},
        {"prompt": "p", "rules": [RULE], "inputs": {"a": "one sentence", "b": ["x"], "c": {"type": "number"}}},
        {"prompt": "p", "rules": [{"id": 1, "rule": "One.", "inverse": None, "origin": None}]},
    ],
)
def test_people_s_shapes_are_accepted(data: Any) -> None:
    assert _errors("spec", data) == []


@pytest.mark.parametrize(
    "data",
    [
        {"prompt": "p", "ruels": []},
        {"rules": [RULE]},
        {"prompt": "p", "rules": [{"id": "r1"}]},
        {"prompt": "p", "rules": [{**RULE, "checks": [{"value": "x"}]}]},
        {"prompt": "p", "rules": [{**RULE, "origin": "made"}]},
        {"prompt": "p", "rules": [{**RULE, "id": "a b"}]},
        {"prompt": "p", "inputs": {"a": {"tipe": "text"}}},
    ],
)
def test_mistakes_are_refused(data: Any) -> None:
    assert _errors("spec", data) != []
