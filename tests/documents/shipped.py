"""The schema files that come with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft7Validator


def shipped_schema(name: str) -> str:
    """The text of a schema file."""
    return (resources.files("promptpex.documents.schemas") / f"{name}.schema.json").read_text(encoding="utf-8")


@cache
def shipped(name: str) -> dict[str, Any]:
    """A schema file as data."""
    schema: dict[str, Any] = json.loads(shipped_schema(name))
    return schema


def schema_errors(name: str, data: Any) -> list[str]:
    """What an editor would say of this data in a file of this kind."""
    return [error.message for error in Draft7Validator(shipped(name)).iter_errors(data)]
