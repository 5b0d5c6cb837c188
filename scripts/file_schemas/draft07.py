"""What pydantic says of a record, as a schema in the dialect of draft-07, in as few words as that takes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

Schema = dict[str, Any]

_OF_SCHEMAS = ("properties", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf")
_NOTHING: tuple[object, ...] = (None, [], {}, "")


class _InOrder(GenerateJsonSchema):
    """Keys as they are declared, in examples too, instead of by the alphabet."""

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        """The value as it is."""
        return value


def of_record(record: type[BaseModel]) -> Schema:
    """The schema of a record, with its parts under ``definitions``."""
    made = record.model_json_schema(by_alias=True, mode="validation", schema_generator=_InOrder)
    made["definitions"] = made.pop("$defs", {})
    return tidy(made)


def tidy(node: Schema) -> Schema:
    """A schema without titles and empty defaults, with docstrings as sentences, and nothing next to a ``$ref``: by
    draft-07 what stands there is not read."""
    result = {key: _part(key, value) for key, value in node.items() if not _says_nothing(key, value)}
    if "description" in result:
        result["description"] = " ".join(result["description"].split("\n\n")[0].replace("``", "").split())
    if "$ref" in result:
        reference = {"$ref": result.pop("$ref").replace("#/$defs/", "#/definitions/")}
        result = {**result, "allOf": [reference]} if result else reference
    return _with_types_together(result)


def nullable(node: Schema) -> Schema:
    """A schema that accepts null as well: a key without a value counts as left out."""
    if "enum" in node:
        return {**without(node, "type"), "enum": [*(value for value in node["enum"] if value is not None), None]}
    if "type" in node:
        types = node["type"] if isinstance(node["type"], list) else [node["type"]]
        return {**node, "type": [*types, *([] if "null" in types else ["null"])]}
    if "anyOf" in node:
        others = [branch for branch in node["anyOf"] if branch != {"type": "null"}]
        return {**node, "anyOf": [*others, {"type": "null"}]}
    reference = next((node[key] for key in ("allOf",) if key in node), None)
    if reference is not None:
        return {**without(node, "allOf"), "anyOf": [*reference, {"type": "null"}]}
    return node


def without(node: Schema, *names: str) -> Schema:
    """A schema without these keywords."""
    return {key: value for key, value in node.items() if key not in names}


def _says_nothing(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value in _NOTHING)


def _part(key: str, value: Any) -> Any:
    if key in _OF_SCHEMAS:
        return {name: tidy(part) for name, part in value.items()}
    if key in _LISTS:
        return [tidy(part) for part in value]
    if key in ("items", "additionalProperties") and isinstance(value, dict):
        return tidy(value)
    return value


def _with_types_together(node: Schema) -> Schema:
    """``{"type": ["string", "null"]}`` for a choice of one type and nothing."""
    branches = node.get("anyOf", [])
    if len(branches) != 2 or {"type": "null"} not in branches:
        return node
    other = next(branch for branch in branches if branch != {"type": "null"})
    if not isinstance(other.get("type"), str) and "enum" not in other:
        return node
    return nullable({**without(node, "anyOf"), **other})
