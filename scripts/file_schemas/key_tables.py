"""Tables of keys, from what the schemas say of them: type, default, meaning, example."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from file_schemas.checks import ALIAS
from file_schemas.draft07 import Schema
from promptpex.config.wording import toml_value

YAML, TOML = "yaml", "toml"
LONGEST_CHOICE = 8
"""Words that a key may have which are still listed in its table."""

_TYPES = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "true or false",
    "object": "mapping",
    "array": "list",
}


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of one mapping: what the schema says of each, and which of them have to be there."""

    about: Mapping[str, Schema]
    required: Collection[str] = ()


def key_table(keys: Keys, notation: str) -> str:
    """The keys that people write, a row each."""
    rows = [_row(name, about, name in keys.required, notation) for name, about in keys.about.items() if _is_own(about)]
    return "\n".join(["| key | meaning | type | default | example |", "|---|---|---|---|---|", *rows])


def machine_table(keys: Keys) -> str:
    """The keys that promptpex writes, a row each."""
    rows = [
        f"| `{name}` | {_cell(about['description'])} |" for name, about in keys.about.items() if about.get("readOnly")
    ]
    return "\n".join(["| key | meaning |", "|---|---|", *rows])


def _is_own(about: Schema) -> bool:
    return not about.get("readOnly") and ALIAS not in about


def _row(name: str, about: Schema, is_required: bool, notation: str) -> str:
    default = "required" if is_required else _default(about, notation)
    example = f"`{_shown(about['examples'][0], notation)}`"
    return f"| `{name}` | {_cell(about['description'])} | {_type(about)} | {default} | {_cell(example)} |"


def _default(about: Schema, notation: str) -> str:
    return f"`{_cell(_shown(about['default'], notation))}`" if "default" in about else "–"


def _type(about: Schema) -> str:
    if "enum" in about:
        words = [word for word in about["enum"] if word is not None]
        return "a kind" if len(words) > LONGEST_CHOICE else ", ".join(f"`{word}`" for word in words)
    others: list[Schema] = about.get("anyOf") or about.get("allOf") or []
    branches = [_type(branch) for branch in others if branch != {"type": "null"}]
    types: str | list[str] = about.get("type", [])
    names = [name for name in ([types] if isinstance(types, str) else types) if name != "null"]
    if names == ["string", "number", "boolean"]:
        return "text"
    words = [_word(name, about) for name in names] + branches
    return " or ".join(dict.fromkeys(words)) or ("mapping" if "$ref" in about else "any")


def _word(name: str, about: Schema) -> str:
    items = about.get("items", {})
    if name == "array" and items.get("type") == "string":
        return "list of texts"
    return "list of mappings" if name == "array" and "$ref" in items else _TYPES[name]


def _shown(value: Any, notation: str) -> str:
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    if notation == TOML:
        return toml_value(value)
    text: str = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000)
    return text.removesuffix("...\n").strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
