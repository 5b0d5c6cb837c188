"""Inputs as text, as a model is shown them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def value_text(value: Any) -> str:
    """A value as a model would be shown it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def inputs_text(inputs: Mapping[str, Any]) -> str:
    """Inputs as text: the value alone if there is one, else a paragraph per variable under its name."""
    if len(inputs) == 1:
        return value_text(next(iter(inputs.values())))
    return named_text(inputs)


def named_text(inputs: Mapping[str, Any]) -> str:
    """Inputs as text: a paragraph per variable under its name; empty if there are none."""
    return "\n\n".join(f"{name}:\n{value_text(value)}" for name, value in inputs.items())
