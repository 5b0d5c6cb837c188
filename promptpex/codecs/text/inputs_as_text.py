"""Inputs as text, as a model is shown them, and texts that begin a template of Jinja and Nunjucks."""

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


MARKS = ("{{", "{%", "{#")


def has_template(text: str) -> bool:
    return any(mark in text for mark in MARKS)


def raw(text: str) -> str:
    """The text as a template that writes it; as it is where it holds no template syntax."""
    return f"{{% raw %}}{text}{{% endraw %}}" if has_template(text) else text
