"""What begins a template of Jinja and Nunjucks, and texts that hold such marks and are to stay as they are."""

from __future__ import annotations

MARKS = ("{{", "{%", "{#")


def has_template(text: str) -> bool:
    """Whether the text holds template syntax."""
    return any(mark in text for mark in MARKS)


def raw(text: str) -> str:
    """The text as a template that writes it; as it is where it holds no template syntax."""
    return f"{{% raw %}}{text}{{% endraw %}}" if has_template(text) else text
