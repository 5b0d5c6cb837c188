"""JSON schemas, draft-07, as strict as Ajv 8 in strict mode: what it would refuse to compile is refused here.

The validating itself is the package jsonschema's, with the keywords replaced that depend on JavaScript: patterns
(V8, flag ``u``), formats, ``multipleOf`` (a division of doubles). No reference is ever fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from promptpex.assertions import time_limits
from promptpex.assertions.javascript import js_values, v8
from promptpex.assertions.kinds import schema_formats
from promptpex.assertions.model import Unscorable
from promptpex.assertions.quoting import shown

DRAFT_07 = "http://json-schema.org/draft-07/schema"
_BLANK = " "
_KEYWORDS = frozenset(
    (
        "$schema $id $defs $comment $ref definitions title description default examples deprecated readOnly "
        "writeOnly contentMediaType contentEncoding contentSchema $vocabulary type nullable enum const "
        "multipleOf maximum minimum exclusiveMaximum exclusiveMinimum maxLength minLength pattern format "
        "items additionalItems maxItems minItems uniqueItems contains maxProperties minProperties required "
        "properties patternProperties additionalProperties dependencies propertyNames if then else allOf "
        "anyOf oneOf not"
    ).split(_BLANK)
)
_ONE = ("additionalItems", "contains", "additionalProperties", "propertyNames", "if", "then", "else", "not")
_LISTS = ("allOf", "anyOf", "oneOf")
_MAPS = ("properties", "patternProperties", "definitions", "$defs")


class Schema:
    """A schema that can judge.

    Raises:
        Unscorable: code ``bad-schema``, on making one that Ajv would refuse.
    """

    def __init__(self, source: Mapping[str, Any]) -> None:
        _refuse_unknown(source)
        _check_against_draft(source)
        self._validator = _validator_class()(source, registry=_registry())
        _check_references(source)

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, in one sentence; None when nothing is.

        Raises:
            Unscorable: ``bad-schema`` for a reference that leads nowhere, around in a circle, or to what is no schema;
                ``timeout`` where the time of the check under way is over (``clock``).
        """
        from jsonschema.exceptions import UnknownType
        from referencing.exceptions import Unresolvable

        try:
            error = next(iter(self._validator.iter_errors(value)), None)
        except Unresolvable as missing:
            raise _bad(f"the reference {shown(str(missing.ref))} leads nowhere") from missing
        except RecursionError as endless:
            raise _bad("it refers to itself without end, or the value nests too deep") from endless
        except (UnknownType, AttributeError, KeyError, TypeError, ValueError) as odd:
            raise _bad("what a reference of it leads to is no schema") from odd
        if error is None:
            return None
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        at = f" at {place[:80].lstrip('.')}" if place else ""
        return f"the JSON does not follow the schema{at}: {_one_line(error.message)}"


def compiled(source: Mapping[str, Any]) -> Schema:
    """The schema made ready; equal ones are made once.

    Raises:
        Unscorable: code ``bad-schema``.
    """
    try:
        return _compiled(json.dumps(source))
    except (RecursionError, TypeError, ValueError) as error:
        raise _bad("it nests too deep, or holds what JSON does not have") from error


@lru_cache(maxsize=512)
def _compiled(source: str) -> Schema:
    return Schema(json.loads(source))


def _bad(detail: str) -> Unscorable:
    return Unscorable("bad-schema", f"the schema does not compile: {detail}")


def _one_line(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= 200 else line[:197] + "..."


def subschemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and all schemas inside of it, booleans left out."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for part in _parts(schema):
        yield from subschemas(part)


def _parts(schema: Mapping[str, Any]) -> Iterator[Any]:
    for key in _ONE:
        yield schema.get(key)
    for key in (*_LISTS, "items"):
        value = schema.get(key)
        yield from value if isinstance(value, list) else (value,)
    for key in (*_MAPS, "dependencies"):
        value = schema.get(key)
        yield from value.values() if isinstance(value, Mapping) else ()


def _refuse_unknown(root: Mapping[str, Any]) -> None:
    draft = root.get("$schema", DRAFT_07)
    if not isinstance(draft, str) or draft.rstrip("#") != DRAFT_07:
        raise _bad(f"its $schema is {shown(str(draft))}; draft-07 is what is read")
    for schema in subschemas(root):
        _refuse_keywords(schema)
        _refuse_ignored(schema)


def _refuse_keywords(schema: Mapping[str, Any]) -> None:
    unknown = next((key for key in schema if key not in _KEYWORDS), None)
    if unknown is not None:
        raise _bad(f"it has the unknown keyword {shown(str(unknown))}")
    name = schema.get("format")
    if "format" in schema and (not isinstance(name, str) or name not in schema_formats.NAMES):
        raise _bad(f"it has the unknown format {shown(str(name))}")
    if "nullable" in schema and "type" not in schema:
        raise _bad("nullable needs a type beside it")
    _refuse_odd_enum(schema.get("enum"))
    patterns = schema.get("patternProperties")
    for pattern in [schema.get("pattern"), *(patterns if isinstance(patterns, Mapping) else ())]:
        if isinstance(pattern, str):
            _check_pattern(pattern)


def _refuse_odd_enum(values: Any) -> None:
    if not isinstance(values, list):
        return
    if not values:
        raise _bad("an enum without values allows nothing")
    if len(set(map(_hashable, values))) < len(values):
        raise _bad("an enum names a value twice")


def _check_pattern(pattern: str) -> None:
    try:
        v8.REGEXES.test(pattern, "", "u")
    except Unscorable as error:
        if error.code == "bad-pattern":
            raise _bad(error.message) from error


def _refuse_ignored(schema: Mapping[str, Any]) -> None:
    """Keywords that would do nothing where they stand; Ajv's strict mode refuses them."""
    if "if" in schema and "then" not in schema and "else" not in schema:
        raise _bad("an if without then and else does nothing")
    if "if" not in schema and ("then" in schema or "else" in schema):
        raise _bad("then and else without an if do nothing")
    if "additionalItems" in schema and not isinstance(schema.get("items"), list):
        raise _bad("additionalItems does nothing beside items that is no list")
    names, patterns = schema.get("properties"), schema.get("patternProperties")
    if isinstance(names, Mapping) and isinstance(patterns, Mapping):
        for pattern in patterns:
            twice = next((name for name in names if v8.REGEXES.test(pattern, str(name), "u")), None)
            if twice is not None:
                raise _bad(f"the property {shown(str(twice))} also matches the pattern {shown(pattern)}")


def _check_against_draft(schema: Mapping[str, Any]) -> None:
    from jsonschema import Draft7Validator, FormatChecker, SchemaError

    try:
        Draft7Validator.check_schema(dict(schema), format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        place = ".".join(str(part) for part in error.absolute_path)
        raise _bad(f"{place + ': ' if place else ''}{_one_line(error.message)}") from error


def _check_references(root: Mapping[str, Any]) -> None:
    """References inside the schema have to lead somewhere; those through ``$id`` are looked up when they are met."""
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT7

    resolver = _registry().resolver_with_root(DRAFT7.create_resource(root))
    for schema in subschemas(root):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            try:
                resolver.lookup(reference)
            except Unresolvable as error:
                raise _bad(f"the reference {shown(reference)} leads nowhere") from error


def _timed(keyword: Any) -> Any:
    """The keyword's function, looking at the clock first: references that branch again and again take for ever."""

    def evaluate(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Any:
        time_limits.tick()
        return keyword(validator, wanted, value, schema)

    return evaluate


@cache
def _registry() -> Any:
    """The drafts themselves and nothing else: nothing is fetched."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    return REGISTRY


@cache
def _validator_class() -> Any:
    from jsonschema import Draft7Validator, TypeChecker
    from jsonschema.validators import extend

    keywords = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "multipleOf": _multiple_of,
        "format": _format,
        "type": _type,
        "minLength": _min_length,
        "maxLength": _max_length,
        "uniqueItems": _unique_items,
    }
    timed = {name: _timed(judge) for name, judge in {**Draft7Validator.VALIDATORS, **keywords}.items()}
    made: Any = extend  # untyped in its package
    return made(Draft7Validator, validators=timed, type_checker=_types(TypeChecker))


def _types(checker: Any) -> Any:
    return checker(
        {
            "any": lambda _, value: True,
            "array": lambda _, value: isinstance(value, list),
            "boolean": lambda _, value: isinstance(value, bool),
            "integer": lambda _, value: js_values.is_number(value) and float(js_values.as_double(value)).is_integer(),
            "null": lambda _, value: value is None,
            "number": lambda _, value: js_values.is_number(value),
            "object": lambda _, value: isinstance(value, dict),
            "string": lambda _, value: isinstance(value, str),
        }
    )


def _wrong(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)


def _type(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    names = wanted if isinstance(wanted, list) else [wanted]
    if value is None and schema.get("nullable") is True:
        return
    if not any(validator.is_type(value, name) for name in names):
        yield _wrong(f"{shown(js_values.compact_json(value))} is not of type {', '.join(names)}")


def _pattern(validator: Any, pattern: str, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if isinstance(value, str) and not v8.REGEXES.test(pattern, value, "u"):
        yield _wrong(f"{shown(value)} does not match {shown(pattern)}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, schema: Mapping[str, Any]
) -> Iterator[Any]:
    if not isinstance(value, dict):
        return
    for pattern, part in patterns.items():
        for name, item in value.items():
            if v8.REGEXES.test(pattern, name, "u"):
                yield from validator.descend(item, part, path=name, schema_path=pattern)


def _additional_properties(validator: Any, part: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not isinstance(value, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in value.items():
        if name in named or any(v8.REGEXES.test(pattern, name, "u") for pattern in patterns):
            continue
        if part is False:
            yield _wrong(f"the property {shown(name)} is not allowed")
        elif part is not True:
            yield from validator.descend(item, part, path=name)


def _multiple_of(validator: Any, factor: float, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not js_values.is_number(value):
        return
    quotient = js_values.as_double(value) / js_values.as_double(factor)
    if not quotient.is_integer():
        yield _wrong(f"{js_values.number_text(value)} is not a multiple of {js_values.number_text(factor)}")


def _format(validator: Any, name: str, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not schema_formats.holds(name, value):
        yield _wrong(f"{shown(js_values.compact_json(value))} is no {name}")


def _unique_items(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if wanted is True and isinstance(value, list):
        seen: set[Any] = set()
        for item in value:
            if (mark := _hashable(item)) in seen:
                yield _wrong(f"{shown(js_values.compact_json(item))} is there twice")
                return
            seen.add(mark)


def _hashable(value: Any) -> Any:
    """Something that is equal for equal JSON values alone: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return "object", frozenset((name, _hashable(item)) for name, item in value.items())
    if isinstance(value, list):
        return "list", tuple(_hashable(item) for item in value)
    return type(value).__name__ if not js_values.is_number(value) else "number", _double(value)


def _double(value: Any) -> Any:
    return js_values.as_double(value) if js_values.is_number(value) else value


def _min_length(validator: Any, least: float, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if isinstance(value, str) and len(value) < least:
        yield _wrong(f"{shown(value)} is shorter than {least}")


def _max_length(validator: Any, most: float, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if isinstance(value, str) and len(value) > most:
        yield _wrong(f"{shown(value)} is longer than {most}")
