"""The schemas of specs, cases and candidates, from their records and what ``documents.editable_file`` declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from file_schemas.checks import CONDITIONS, conditions, with_kinds
from file_schemas.draft07 import Schema, nullable, of_record, without
from promptpex.core.records import Check, InputCheck
from promptpex.documents.editable_file import DocumentKind
from promptpex.documents.field_types import Items, Named, Pairs, Records, Text

_BARE = ["string", "number", "boolean"]
"""What may stand where a text is wanted: a number or a bare word is taken as it stands."""


def yaml_file(kind: DocumentKind[Any]) -> Schema:
    """What the reader of these files accepts, as far as a schema can say that."""
    whole = of_record(type(kind.empty))
    parts: dict[str, Schema] = whole["definitions"]
    _take_bare_words(whole, [part.name for part in kind.parts if isinstance(part, Text)])
    for part in kind.parts:
        if isinstance(part, Items | Records):
            _take_bare_words(parts[part.record.__name__], part.texts)
        if isinstance(part, Items) and part.named_by is not None:
            parts[part.record.__name__]["required"].remove("id")
        if isinstance(part, Items) and not isinstance(part, Pairs):
            parts[part.record.__name__]["properties"]["origin"]["default"] = "added"
        if isinstance(part, Named):
            _take_short_forms(whole["properties"][part.name], parts[part.record.__name__], part.short)
    for check in (Check, InputCheck):
        if check.__name__ in parts:
            parts[check.__name__] = with_kinds(parts[check.__name__])
            parts[CONDITIONS] = conditions()
    if kind.schema == "spec":
        whole = _with_a_rule(whole)
    if "Case" in parts:
        parts["Case"] = {**parts["Case"], **_FIRST_UNDER_EXPECTED}
    taken = {part.record.__name__ for part in kind.parts if isinstance(part, Items | Named)}
    whole["definitions"] = {name: _take_nothing(part) if name in taken else part for name, part in parts.items()}
    return _take_nothing(whole)


_FIRST_UNDER_EXPECTED: Schema = {
    "if": {"required": ["also_right"], "properties": {"also_right": {"type": "array", "minItems": 1}}},
    "then": {"required": ["expected"], "properties": {"expected": {"not": {"type": "null"}}}},
}


def _with_a_rule(whole: Schema) -> Schema:
    """A spec has a rule."""
    rules = {**whole["properties"]["rules"], "minItems": 1}
    return {
        **whole,
        "properties": {**whole["properties"], "rules": rules},
        "required": [*whole.get("required", []), "rules"],
    }


def _take_bare_words(part: Schema, fields: Iterable[str]) -> None:
    for name in fields:
        field = part["properties"][name]
        part["properties"][name] = {**without(field, "type", "anyOf"), "type": list(_BARE)}


def _take_short_forms(field: Schema, record: Schema, short: str) -> None:
    """A record by its name may be the one text, or the texts, of its field ``short``."""
    reference = field["additionalProperties"]
    texts = without(record["properties"][short], "default")
    field["additionalProperties"] = {"anyOf": [{"type": "string"}, texts, reference, {"type": "null"}]}


def _take_nothing(part: Schema) -> Schema:
    """A key without a value counts as left out, unless it is required."""
    required = part.get("required", [])
    properties = part.get("properties", {})
    return {
        **part,
        "properties": {name: field if name in required else nullable(field) for name, field in properties.items()},
    }
