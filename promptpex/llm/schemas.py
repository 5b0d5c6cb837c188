"""JSON schemas of structured replies, in the form that the strictest takers accept.

OpenAI's strict mode wants every property required, no further ones, and no ``$ref`` surprises; llama.cpp turns the
schema into a grammar. Both ignore or refuse some keywords; what is left out here is still held by the reply type.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from promptpex.codecs.text.wording import cut

DROPPED = frozenset({"title", "default", "examples", "minLength", "maxLength", "uniqueItems", "discriminator", "$defs"})
"""Keywords that strict takers refuse or that say nothing to a model."""


def reply_schema(reply_type: type[BaseModel]) -> dict[str, Any]:
    """The schema of ``reply_type`` with every reference written out, objects closed and all properties required.

    What a type's docstring says is for readers of the code and left out: the template tells the model what to write.
    Properties keep the order of the fields: a model that reasons first should be asked for the reason first. The
    dictionary is shared; do not change it.

    Raises:
        ValueError: the type contains itself, which a written-out schema cannot say.
    """
    return _cached(reply_type)


@cache
def _cached(reply_type: type[BaseModel]) -> dict[str, object]:
    schema = _undescribed(reply_type.model_json_schema())
    defs: dict[str, object] = {name: _undescribed(definition) for name, definition in schema.get("$defs", {}).items()}
    written = _written_out(schema, defs, ())
    assert isinstance(written, dict)
    return written


def is_closed(schema: object) -> bool:
    """Whether every object in the schema names all it may hold and demands all of that, as strict takers want it."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        names = list(schema.get("properties", ()))
        if schema.get("additionalProperties") is not False or schema.get("required") != names:
            return False
        return all(map(is_closed, schema["properties"].values()))
    return all(map(is_closed, schema.values()))


def _undescribed(definition: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in definition.items() if key != "description"}


_SCALARS: dict[object, object] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}


def reply_type_of(schema: dict[str, object]) -> type[BaseModel]:
    """A type that reads replies as the one does that ``schema`` was written for, up to what its validators leave out.

    Raises:
        ValueError, TypeError: it is not the schema of a reply.
    """
    return _reply_type(json.dumps(schema, sort_keys=False))


@lru_cache(maxsize=64)
def _reply_type(schema: str) -> type[BaseModel]:
    reply_type = _type_of(json.loads(schema))
    if not (isinstance(reply_type, type) and issubclass(reply_type, BaseModel)):
        raise ValueError("The schema of a reply is that of an object.")
    return reply_type


def _type_of(node: dict[str, Any]) -> Any:
    if "enum" in node or "const" in node:
        return Literal[tuple(node.get("enum", [node.get("const")]))]
    if "anyOf" in node:
        return Union[tuple(_type_of(each) for each in node["anyOf"])]  # noqa: UP007 (of a tuple)
    if node.get("type") == "array":
        item = _type_of(node.get("items", {}))
        return Annotated[list[item], Field(min_length=min(1, node.get("minItems", 0)))]  # type: ignore[valid-type]
    if "properties" in node:
        named = enumerate(node["properties"].items())
        fields: dict[str, Any] = {f"v{at}": (_type_of(each), Field(alias=name)) for at, (name, each) in named}
        return create_model("Read", __config__=ConfigDict(populate_by_name=False), **fields)
    return dict[str, Any] if node.get("type") == "object" else _SCALARS.get(node.get("type"), Any)


def shortened(most: int) -> BeforeValidator:
    """Cuts a text of a reply after ``most`` characters: length alone never costs a whole reply."""
    return BeforeValidator(lambda value: cut(value, most) if isinstance(value, str) else value)


def if_given(most: int) -> BeforeValidator:
    return BeforeValidator(lambda value: cut(value, most) if isinstance(value, str) else "")


def first(most: int) -> BeforeValidator:
    return BeforeValidator(lambda value: value[:most] if isinstance(value, list) else value)


def list_up_to(item: Any, most: int, *, least: int = 0, wanted: int = 0) -> Any:
    """A list of a reply. A model that is held to the schema stops after ``most`` items; what another gives beyond is
    left out.

    Args:
        item: the type of an item.
        most: how many there may be.
        least: fewer make the reply useless.
        wanted: as many are demanded by the schema; a model that is not held to it may give fewer.
    """
    bounds = Field(min_length=least, max_length=most)
    if wanted > least:
        bounds = Field(min_length=least, max_length=most, json_schema_extra={"minItems": wanted})
    return Annotated[list[item], first(most), bounds]


def reply_model(name: str, **fields: object) -> type[BaseModel]:
    required: dict[str, Any] = {field: (kind, ...) for field, kind in fields.items()}
    return create_model(name, **required)


def one_of(values: Sequence[str | int]) -> object:
    return Literal[tuple(values)]


def readable(item: type[BaseModel]) -> BeforeValidator:
    """Leaves out of a reply's list what is not an ``item``: one that is spoilt does not cost the others."""
    return BeforeValidator(
        lambda value: [each for each in value if reads(item, each)] if isinstance(value, list) else value
    )


def reads(item: type[BaseModel], value: Any) -> bool:
    try:
        item.model_validate(value)
    except ValidationError:
        return False
    return True


REASON = shortened(2000)
"""Why a verdict is what it is, or how a case came about."""


def described(schema: dict[str, object]) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    return f"Answer with one JSON value that follows this JSON schema, and with nothing else:\n{text}"


def follows(value: Any, schema: dict[str, Any]) -> bool:
    if schema.get("type") == "array":
        return isinstance(value, list)
    return isinstance(value, dict) and all(name in value for name in schema.get("required", ()))


def _written_out(node: object, defs: dict[str, object], within: tuple[str, ...]) -> object:
    if isinstance(node, list):
        return [_written_out(each, defs, within) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _referred(node, defs, within)
    if len(node.get("allOf", ())) == 1:
        merged = {**node["allOf"][0], **{key: value for key, value in node.items() if key != "allOf"}}
        return _written_out(merged, defs, within)
    out = {_renamed(key): _member(key, value, defs, within) for key, value in node.items() if key not in DROPPED}
    return _closed(out)


def _referred(node: dict[str, Any], defs: dict[str, Any], within: tuple[str, ...]) -> Any:
    name = node["$ref"].rsplit("/", 1)[-1]
    if name in within:
        raise ValueError(f"The reply type {name} contains itself; a reply schema cannot be written out for it.")
    others = {key: value for key, value in node.items() if key != "$ref"}
    return _written_out({**defs[name], **others}, defs, (*within, name))


def _member(key: str, value: Any, defs: dict[str, Any], within: tuple[str, ...]) -> Any:
    if key == "properties":
        return {name: _written_out(each, defs, within) for name, each in value.items()}
    if key in ("enum", "const", "required"):
        return value
    return _written_out(value, defs, within)


def _renamed(key: str) -> str:
    return "anyOf" if key == "oneOf" else key


def _closed(node: dict[str, Any]) -> dict[str, Any]:
    if "properties" not in node:
        return node
    return {**node, "required": list(node["properties"]), "additionalProperties": False}
