"""What a prompt's front matter declares about its variables, as input specs: types, allowed values, bounds, schemas.

Under ``inputs``, in our words or those of JSON schema and Prompty: ``{type: enum, values: [a, b]}``,
``{enum: [a, b]}``, ``{type: number, minimum: 0}``, ``{type: object, schema: {...}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import PromptFileError
from promptpex.core.records import Prompt, VariableSpec
from promptpex.documents.record_problems import plain_message
from promptpex.promptfile.front_matter_keys import TYPES

FIELDS = {
    "values": ("values", "enum", "options", "enumValues"),
    "schema": ("schema", "json_schema", "jsonSchema"),
    "minimum": ("minimum", "min"),
    "maximum": ("maximum", "max"),
    "min_length": ("min_length", "minLength"),
    "max_length": ("max_length", "maxLength"),
}
"""Each field of a variable's spec with the names that front matter may give it."""


def declared(prompt: Prompt, name: str) -> VariableSpec:
    """What the front matter says of a variable; a text without bounds where it says nothing.

    Raises:
        PromptFileError: values, bounds or a schema that make no sense.
    """
    inputs = prompt.meta.get("inputs")
    about = inputs.get(name) if isinstance(inputs, Mapping) else None
    declaration = dict(about) if isinstance(about, Mapping) else {}
    fields: dict[str, Any] = {
        field: next(declaration[word] for word in words if declaration.get(word) is not None)
        for field, words in FIELDS.items()
        if any(declaration.get(word) is not None for word in words)
    }
    kind = declaration.get("type", declaration.get("kind"))
    fields["type"] = _type(kind, fields)
    if fields["type"] == "json" and "schema" not in fields and kind in ("object", "array"):
        fields["schema"] = {"type": kind}
    try:
        return VariableSpec.model_validate(fields)
    except ValidationError as failure:
        error = failure.errors(include_url=False)[0]
        place = ".".join(str(part) for part in error["loc"])
        raise PromptFileError(f"the input {name!r}: {place}: {plain_message(error)}", path=prompt.path) from None


def unread_declarations(prompt: Prompt) -> list[str]:
    """What the front matter says of the variables and nothing reads, in sentences: types and keys that look like slips.
    Others may be another tool's."""
    inputs = prompt.meta.get("inputs")
    abouts = inputs.items() if isinstance(inputs, Mapping) else ()
    return [
        sentence
        for name, about in abouts
        if isinstance(about, Mapping)
        for key, value in about.items()
        if (sentence := _unread(name, key, value))
    ]


def _unread(name: str, key: Any, value: Any) -> str | None:
    """Why this key of a declaration says nothing, where it looks like one that does."""
    if key in ("type", "kind"):
        near = "" if str(value).lower() in TYPES else did_you_mean(str(value), TYPES)
        return f"the input {name!r} is taken for a text: there is no type {str(value)[:40]!r}; {near}" if near else None
    near = "" if key in _KEYS else did_you_mean(str(key), _KEYS)
    return f"the input {name!r}: nothing reads the key {str(key)[:40]!r}; {near}" if near else None


_KEYS = frozenset(
    ("type", "kind", "description", "checks_only", *(word for words in FIELDS.values() for word in words))
)


def declarations(prompt: Prompt) -> str:
    """What the front matter says of the variables, a line each: its description, its type and bounds as JSON.

    Raises:
        PromptFileError: as ``declared``.
    """
    lines = []
    for name in prompt.variables:
        bounds = declared(prompt, name).to_dict()
        parts = [prompt.description_of(name), json.dumps(bounds, ensure_ascii=False) if bounds else ""]
        if any(parts):
            lines.append(f"{name}: {' '.join(filter(None, parts))}")
    return "\n".join(lines)


def _type(kind: Any, fields: Mapping[str, Any]) -> str:
    type_name = TYPES.get(kind.lower() if isinstance(kind, str) else "", "text")
    if type_name == "text" and isinstance(fields.get("values"), list | tuple):
        return "enum"
    return "json" if type_name == "text" and "schema" in fields else type_name
