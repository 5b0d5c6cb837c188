"""JSON schemas of the files that people write, made from the records, so that editors complete and check them.

``python -m promptpex.documents.schemas`` writes the schema files again after a record has changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from promptpex.core.records import Check, InputCheck, VariableSpec
from promptpex.documents.field_types import Items, Records, Text
from promptpex.documents.kinds import KINDS

NAMES = tuple(kind.schema for kind in KINDS)
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_BARE = ["string", "number", "boolean"]


def schema(name: str) -> dict[str, Any]:
    """The schema of ``spec``, ``cases`` or ``candidates`` files: what their readers accept, as far as it can say
    that."""
    kind = next(kind for kind in KINDS if kind.schema == name)
    record = type(kind.empty)
    made = record.model_json_schema(by_alias=True, mode="validation")
    parts: dict[str, Any] = made.get("$defs", {})
    _loosen(made, [part.name for part in kind.parts if isinstance(part, Text)])
    for part in kind.parts:
        if isinstance(part, Items | Records):
            _loosen(parts[part.record.__name__], part.texts)
    for check in (Check, InputCheck):
        if check.__name__ in parts:
            _name_kinds(parts[check.__name__])
    if VariableSpec.__name__ in parts:
        parts["VariableSpec"] = _variable(parts["VariableSpec"])
    _allow_nothing(made)
    for definition in parts.values():
        _allow_nothing(definition)
    return {"$schema": DIALECT, "title": f"promptpex {name} file", **{k: v for k, v in made.items() if k != "title"}}


def text(name: str) -> str:
    """The schema as its file has it."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _loosen(target: dict[str, Any], fields: Iterable[str]) -> None:
    for name in fields:
        field = target["properties"][name]
        about = {key: field[key] for key in ("default", "description", "title") if key in field}
        text = next((branch for branch in field.get("anyOf", ()) if branch.get("type") == "string"), field)
        limits = {key: text[key] for key in ("minLength", "pattern") if key in text}
        target["properties"][name] = {**about, **limits, "type": list(_BARE)}


def _name_kinds(part: dict[str, Any]) -> None:
    """``type`` stands for ``kind``, ``asserts`` for ``assert``."""
    properties = part["properties"]
    properties["type"] = {**properties["kind"], "title": "Type"}
    main, other = ("assert", "asserts") if "assert" in properties else ("asserts", "assert")
    properties[other] = properties[main]
    part["required"] = [name for name in part.get("required", []) if name != "kind"]
    part["oneOf"] = [{"required": ["kind"]}, {"required": ["type"]}]


def _variable(part: dict[str, Any]) -> dict[str, Any]:
    sentences = {"type": "array", "items": {"type": "string"}}
    return {"description": part.get("description", ""), "anyOf": [{"type": "string"}, sentences, part]}


def _allow_nothing(part: dict[str, Any]) -> None:
    """A key without a value counts as left out, unless the key is required."""
    required = part.get("required", [])
    for name, field in part.get("properties", {}).items():
        if name in required:
            continue
        if isinstance(field.get("type"), str) and "enum" not in field and field["type"] != "null":
            field["type"] = [field["type"], "null"]
        elif isinstance(field.get("type"), list) and "null" not in field["type"]:
            field["type"] = [*field["type"], "null"]
        elif "enum" in field and None not in field["enum"]:
            field["enum"] = [*field["enum"], None]
            field.pop("type", None)
