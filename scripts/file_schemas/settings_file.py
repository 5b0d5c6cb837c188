"""The schema of ``promptpex.toml``, from the settings."""

from __future__ import annotations

from typing import Any

from file_schemas.draft07 import Schema, of_record, without
from promptpex.config import Settings
from promptpex.config.sources import NAMED
from promptpex.llm.named_models import UNDER_TEST
from promptpex.workflow.stages import instructed


def settings_file() -> Schema:
    """What the reader of settings files accepts, as far as a schema can say that. Numbers have to be numbers here,
    which as variables of the environment are texts."""
    whole = without(of_record(Settings), "required")
    properties: dict[str, Any] = dict(whole["properties"])
    named = properties.pop(NAMED)
    properties["models"] = _models(properties["models"], named["additionalProperties"])
    properties["instructions"]["propertyNames"] = {"enum": list(instructed())}
    properties = {name: _value(about) for name, about in properties.items()}
    parts = {name: _values(part) for name, part in whole["definitions"].items()}
    return {**whole, "description": _ABOUT, "properties": properties, "definitions": parts}


_ABOUT = "Settings of promptpex: promptpex.toml, settings.toml of the user, or [tool.promptpex] in pyproject.toml."


def _models(names: Schema, definition: Schema) -> Schema:
    """A list or text of models, or the table of named models with the list under ``under_test``."""
    about = {
        "description": "Models under test: a list, or names between commas; with tables [models.NAME] the list is "
        f"under {UNDER_TEST}; NAME then means the model everywhere.",
        "examples": [*names["examples"], {UNDER_TEST: ["small"], "small": {"model": "openai/x", "temperature": 0}}],
    }
    under_test = {**without(names, "default"), "description": "Models under test.", "examples": [["small", "gpt-4o"]]}
    table = {"type": "object", "properties": {UNDER_TEST: under_test}, "additionalProperties": definition}
    return {"anyOf": [without(names, "description", "examples", "default"), table], **about}


def _values(part: Schema) -> Schema:
    return {**part, "properties": {name: _value(about) for name, about in part["properties"].items()}}


def _value(node: Schema) -> Schema:
    """A schema without null, which TOML does not have."""
    result = dict(node)
    if isinstance(result.get("type"), list):
        types = [name for name in result["type"] if name != "null"]
        result["type"] = types[0] if len(types) == 1 else types
    if "enum" in result:
        result["enum"] = [value for value in result["enum"] if value is not None]
    if "anyOf" in result:
        branches = [branch for branch in result["anyOf"] if branch != {"type": "null"}]
        result = {**without(result, "anyOf"), **(branches[0] if len(branches) == 1 else {"anyOf": branches})}
    return result
