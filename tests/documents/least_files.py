"""The least files in which a key of a schema has a value, and what the readers of such files say of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from promptpex.cases import file as case_file
from promptpex.config import load
from promptpex.config.setting_types import toml_key, toml_value
from promptpex.core.errors import ConfigError
from promptpex.core.records.grade import CALIBRATION_EXAMPLE
from promptpex.specs import file as spec_file
from promptpex.synthesis import folder
from promptpex.workflow.validation.validate import validate
from tests.documents.shipped import shipped

READERS: dict[str, Callable[[Path], Any]] = {
    "spec": spec_file.examine,
    "cases": case_file.examine,
    "candidates": folder.examine,
}


def reader_errors(name: str, data: Any, folder: Path) -> list[str]:
    """What the reader of such files says of this data."""
    if name == "settings":
        return _settings_errors(data, folder)
    if name == "prompt":
        return _prompt_errors(data, folder)
    path = folder / f"prompt.{name}.yaml"
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    problems = READERS[name](path).problems
    return [problem.message for problem in problems if problem.severity == "error"]


def _settings_errors(data: Mapping[str, Any], folder: Path) -> list[str]:
    lines = (f"{toml_key(key)} = {toml_value(value)}\n" for key, value in data.items())
    (folder / "promptpex.toml").write_text("".join(lines), encoding="utf-8")
    try:
        load({"trust_settings": True}, start=folder, env={})
    except ConfigError as error:
        return [str(error)]
    return []


def _prompt_errors(front: Mapping[str, Any], folder: Path) -> list[str]:
    """What ``validate`` says of a prompt with this front matter; its variables are those that the front matter names
    anywhere, else ``question``."""
    (folder / "real.csv").write_text("question\nWhere is it?\n", encoding="utf-8")
    path = folder / ("prompt.prompt.yml" if "messages" in front else "prompt.md")
    text = json.dumps(front, ensure_ascii=False)
    names = [name for name in ("word", "style", "sentence", "tier") if f'"{name}"' in text] or ["question"]
    body = " ".join(f"{{{{{name}}}}}" for name in [*names, *(["question"] if "tier" in names else [])])
    path.write_text(text if "messages" in front else f"---\n{text}\n---\n{body}\n", encoding="utf-8")
    return [problem.message for problem in validate([path]) if problem.severity == "error"]


def keys(name: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every key that the schema of a file knows: whose it is (empty: the file's), its name, and what is said of it."""
    schema = shipped(name)
    yield from _keys(schema, "")
    for owner, part in schema.get("definitions", {}).items():
        yield from _keys(part, owner)


def _keys(node: dict[str, Any], owner: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for key, about in node.get("properties", {}).items():
        yield owner, key, about
        yield from _keys(about, key)
    inner = [node[key] for key in ("items", "additionalProperties") if isinstance(node.get(key), dict)]
    for part in (*inner, *node.get("anyOf", ())):
        yield from _keys(part, owner)


CHECK = {"kind": "contains", "value": "x"}
OF_KIND: dict[str, dict[str, Any]] = {
    "threshold": {"kind": "cost"},
    "assert": {"kind": "assert-set"},
    "asserts": {"kind": "assert-set"},
    "type": {},
}
VALUE_OF: dict[str, Any] = {"word-count": 3, "not-regex": "x"}
JSON_RULE = {"id": "json", "rule": "The output is JSON."}


def _check(key: str, example: Any) -> dict[str, Any]:
    if key in ("kind", "type"):
        return {key: example, "value": VALUE_OF.get(example, "x")}
    if key == "value":
        kind = {"str": "contains", "list": "contains-any", "dict": "word-count"}[type(example).__name__]
        return {"kind": kind, "value": example}
    return {**OF_KIND.get(key, CHECK), key: example}


def _spec(**rule: Any) -> dict[str, Any]:
    return {"prompt": "prompt.md", "rules": [JSON_RULE, {"id": "r9", "rule": "One.", **rule}]}


def _candidates(**given: Any) -> dict[str, Any]:
    return {"prompt": "prompt.md", **given}


SHARE = {"estimate": 0.9, "low": 0.7, "high": 0.98}
HOSTS: dict[str, dict[str, Callable[[str, Any], Any]]] = {
    "spec": {
        "": lambda key, example: {**_spec(), key: example},
        "Rule": lambda key, example: _spec(**{key: example}),
        "Check": lambda key, example: _spec(checks=[_check(key, example)]),
        "InputCheck": lambda key, example: _spec(when=[{"variable": "a", **_check(key, example)}]),
        "VariableSpec": lambda key, example: {**_spec(), "inputs": {"a": {key: example}}},
        "JudgeCalibration": lambda key, example: _spec(judge=[{**CALIBRATION_EXAMPLE, key: example}]),
        "MeasuredShare": lambda key, example: _spec(judge=[{**CALIBRATION_EXAMPLE, "kappa": {**SHARE, key: example}}]),
    },
    "cases": {
        "": lambda key, example: {"prompt": "p", key: example},
        "Case": lambda key, example: {
            "prompt": "p",
            "cases": [{"id": "c", "inputs": {}, **({"expected": "A"} if key == "also_right" else {}), key: example}],
        },
        "Rating": lambda key, example: {
            "prompt": "p",
            "cases": [{"id": "c", "inputs": {}, "rating": {"severity": 1, "importance": 1, key: example}}],
        },
    },
    "candidates": {
        "": lambda key, example: _candidates(**{key: example}),
        "Criterion": lambda key, example: _candidates(criteria=[{"id": "a", "text": "One.", key: example}]),
        "Candidate": lambda key, example: _candidates(candidates=[{"id": "a", "check": CHECK, key: example}]),
        "Check": lambda key, example: _candidates(candidates=[{"id": "a", "check": _check(key, example)}]),
        "Implication": lambda key, example: _candidates(
            implications=[{"stronger": "a", "weaker": "b", "evidence": "person", key: example}]
        ),
    },
    "prompt": {
        "": lambda key, example: {key: example},
        "inputs": lambda key, example: {
            "inputs": [{key: example}] if key == "name" else {"word": {key: example}},
        },
        "scenarios": lambda key, example: {
            "scenarios": [{key: example}] if key == "name" else {"a": {key: example}},
        },
        "messages": lambda key, example: {"messages": [{"role": "user", "content": "Hello.", key: example}]},
    },
    "settings": {
        "": lambda key, example: {key: example},
        "models": lambda key, example: {"models": {key: example}},
        "prices": lambda key, example: {"prices": {"m": {"input": 1, "output": 2, key: example}}},
        "NamedModel": lambda key, example: {
            "models": {"small": {"model": "openai/x", "price_input": 1, "price_output": 2, key: example}}
        },
        "ScenarioSetting": lambda key, example: {"scenarios": [{"name": "a", key: example}]},
    },
}
"""By file and part of it, the least file in which a key of that part has a value."""
