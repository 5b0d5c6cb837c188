"""Lists of keys, from what the schemas say of them: an example, the meaning, the choices, the default."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from file_schemas.checks import ALIAS
from file_schemas.draft07 import Schema
from promptpex.config.setting_types import toml_value

YAML, TOML = "yaml", "toml"
LONGEST_EXAMPLE = 32
"""Characters of an example that a line shows."""

LONGEST_CHOICE = 8
"""Words that a key may have which are still listed in its line."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of one mapping: what the schema says of each, and which of them have to be there."""

    about: Mapping[str, Schema]
    required: Collection[str] = ()


def key_list(keys: Keys, notation: str) -> str:
    """The keys that people write, a line each, as they stand in the file with an example."""
    return "\n".join(
        _line(name, about, name in keys.required, notation) for name, about in keys.about.items() if _is_own(about)
    )


def names(keys: Keys, *, machine: bool = False) -> str:
    """The names alone: of the keys that people write, or of those that promptpex writes."""
    own = (name for name, about in keys.about.items() if (about.get("readOnly") if machine else _is_own(about)))
    return ", ".join(f"`{name}`" for name in own)


def _is_own(about: Schema) -> bool:
    return not about.get("readOnly") and ALIAS not in about


def _line(name: str, about: Schema, is_required: bool, notation: str) -> str:
    example = f"{name}{' = ' if notation == TOML else ': '}{_shown(about['examples'][0], notation)}"
    key = example if len(example) - len(name) <= LONGEST_EXAMPLE else name
    rest = [_choices(about), "Required." if is_required else _default(about, notation)]
    return " ".join([f"- `{key}`: {about['description']}", *(text for text in rest if text)])


def _default(about: Schema, notation: str) -> str:
    return f"Default `{_shown(about['default'], notation)}`." if about.get("default") not in (None, False) else ""


def _choices(about: Schema) -> str:
    """What it may be, where neither the meaning nor the default says so."""
    words = [word for word in about.get("enum", ()) if word is not None]
    known = f"{about['description']} {about.get('default')}".lower()
    are_known = all(word in known for word in words)
    return f"One of {', '.join(words)}." if 0 < len(words) <= LONGEST_CHOICE and not are_known else ""


def _shown(value: Any, notation: str) -> str:
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    if notation == TOML:
        return toml_value(value)
    text: str = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000)
    return text.removesuffix("...\n").strip()
