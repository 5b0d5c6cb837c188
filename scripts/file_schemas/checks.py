"""What the schemas say of checks: the kinds that there are, and what each compares with."""

from __future__ import annotations

from collections.abc import Iterable

from file_schemas.draft07 import Schema, without
from file_schemas.kind_meanings import meanings
from promptpex.assertions import KIND_NAMES
from promptpex.assertions.compiler import RUBRIC, SET

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NUMBER: Schema = {"type": ["string", "number"]}
_TEXTS: Schema = {"type": ["string", "array"]}
_SCHEMA_OR_NOTHING: Schema = {"type": ["object", "string", "boolean", "null"]}
_OBJECT_OR_NOTHING: Schema = {"type": ["object", "null"]}

ALIAS = "x-alias-of"
"""What the schema of a key says that is another name of a key."""

CONDITIONS = "WhatKindsTake"
"""The definition that the schemas of checks share."""

EXPLAINED = "enumDescriptions"
"""What editors show next to each word that they offer; no keyword of draft-07, and ignored by validators."""

WANTED: dict[str, tuple[str, Schema]] = {
    **dict.fromkeys(("contains", "icontains"), ("value", _TEXT_OR_NUMBER)),
    **dict.fromkeys(
        ("starts-with", "ends-with", "regex", "levenshtein", "finish-reason", "javascript", "python", "question"),
        ("value", _TEXT),
    ),
    **dict.fromkeys(("rouge-n", "rouge-l", RUBRIC), ("value", _TEXT)),
    **dict.fromkeys(
        ("contains-all", "contains-any", "icontains-all", "icontains-any", "word-any", "word-all", "bleu", "gleu"),
        ("value", _TEXTS),
    ),
    "language": ("value", _TEXTS),
    "word-count": ("value", {"type": ["number", "string", "object"]}),
    "equals": ("value", {"not": {"type": "null"}}),
    **dict.fromkeys(("cost", "latency", "perplexity", "perplexity-score"), ("threshold", {"type": "number"})),
}
"""The key that each kind has to have, and what stands there."""

ALLOWED: dict[str, Schema] = {
    **dict.fromkeys(("is-json", "contains-json"), _SCHEMA_OR_NOTHING),
    **dict.fromkeys(("is-sql", "contains-sql"), _OBJECT_OR_NOTHING),
    "expected": {"type": ["string", "null"]},
}
"""What may stand under ``value`` of kinds that need none."""


def kinds() -> list[str]:
    """Every kind that a check may have, with ``not-`` and without."""
    names = [*KIND_NAMES, RUBRIC]
    return [*names, *(f"not-{name}" for name in names)]


def with_kinds(part: Schema) -> Schema:
    """The schema of a check with its kinds; ``type`` stands for ``kind``, ``asserts`` for ``assert``."""
    properties = dict(part["properties"])
    names = kinds()
    properties["kind"] = {**without(properties["kind"], "type"), "enum": names, EXPLAINED: meanings(names)}
    alias = {"description": "The kind, as promptfoo calls it.", ALIAS: "kind"}
    properties["type"] = {**without(properties["kind"], EXPLAINED), **alias}
    main, other = ("assert", "asserts") if "assert" in properties else ("asserts", "assert")
    properties[other] = {**properties[main], ALIAS: main}
    return {
        **part,
        "properties": properties,
        "required": [name for name in part.get("required", []) if name != "kind"],
        "oneOf": [{"required": ["kind"]}, {"required": ["type"]}],
        "allOf": [{"$ref": f"#/definitions/{CONDITIONS}"}],
    }


def conditions() -> Schema:
    """What follows from the kind of a check, for the definition ``CONDITIONS``."""
    groups: dict[str, tuple[Schema, list[str]]] = {}
    for name, (key, values) in WANTED.items():
        then = {"required": [key], "properties": {key: values}}
        groups.setdefault(repr(then), (then, []))[1].append(name)
    for name, values in ALLOWED.items():
        then = {"properties": {"value": values}}
        groups.setdefault(repr(then), (then, []))[1].append(name)
    rules = [{"if": _is_one_of(names), "then": then} for then, names in groups.values()]
    either = [{"required": [key], "properties": {key: {"type": "array"}}} for key in ("assert", "asserts")]
    return {"allOf": [*rules, {"if": _is_one_of([SET]), "then": {"anyOf": either}}]}


def _is_one_of(names: Iterable[str]) -> Schema:
    both = sorted(form for name in names for form in (name, f"not-{name}"))
    return {"anyOf": [{"required": [key], "properties": {key: {"enum": both}}} for key in ("kind", "type")]}
