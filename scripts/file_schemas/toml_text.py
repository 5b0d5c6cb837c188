"""Settings as TOML, as a person would write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def toml_key(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def toml_value(value: Any) -> str:
    """A value on one line; mappings as inline tables."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def toml_text(settings: Mapping[str, Any]) -> str:
    """A file with a line for each setting."""
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in settings.items())
