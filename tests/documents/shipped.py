"""The schema files that come with the package."""

from __future__ import annotations

from importlib import resources


def shipped_schema(name: str) -> str:
    """The text of a schema file."""
    return (resources.files("promptpex.documents.schemas") / f"{name}.schema.json").read_text(encoding="utf-8")
