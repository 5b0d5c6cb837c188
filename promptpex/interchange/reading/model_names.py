"""The name of the model in prompt files of other tools, as one of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping

from promptpex.llm.redaction import holds_key

_VENDORS = {"azure_openai": "azure", "azure": "azure", "openai": "openai", "github": "github", "anthropic": "anthropic",
            "serverless": "azure_ai", "foundry": "azure_ai", "ollama": "ollama"}  # fmt: skip
_NAMES = ("azure_deployment", "name", "model", "id", "deployment")
"""Where Prompty's versions have it."""
OURS = {ours: theirs for theirs, ours in reversed(_VENDORS.items())}
"""What Prompty calls our providers."""
_PLAIN = re.compile(r"[^\s?#%&=,\\]+")
NAMING_KEYS = frozenset((*_NAMES, "type", "provider", "api", "kind", "apiType"))
"""What of a model is the name, or says nothing of its own."""


def about_model(value: object) -> Mapping[str, object]:
    """What is said of a model: its connection and configuration, and the texts beside them."""
    if isinstance(value, str):
        return {"id": value}
    model = value if isinstance(value, dict) else {}
    parts = (model.get("connection"), model.get("configuration"))
    merged: dict[str, object] = {}
    for part in parts:
        merged |= part if isinstance(part, dict) else {}
    return merged | {key: value for key, value in model.items() if isinstance(value, str)}


def bare_name(value: object) -> str:
    """The name without its provider; empty where there is none."""
    about = about_model(value)
    return next((name.strip() for key in _NAMES if isinstance(name := about.get(key), str)), "")


def is_plain(name: str) -> bool:
    """Whether a name from a foreign file is a name alone: parameters would name servers, and variables with keys."""
    return _PLAIN.fullmatch(name) is not None and "://" not in name and not holds_key(name)


def names_of(value: object, *, is_github: bool = False) -> tuple[str, ...]:
    """The names that a model may have here, the likeliest first; none where the file names no model.

    Args:
        is_github: whether the file is one of GitHub's, whose names (``openai/gpt-4o-mini``) are of GitHub Models.
    """
    bare = bare_name(value)
    if not bare:
        return ()
    if is_github:
        return (github_name(bare), *([bare] if "/" in bare else []))
    about = about_model(value)
    vendor = next((str(about[key]) for key in ("type", "provider") if about.get(key)), "")
    return (f"{_VENDORS[vendor]}/{bare}" if vendor in _VENDORS else bare,)


def github_name(name: str) -> str:
    """Our name of a model of GitHub Models."""
    return f"github/{name.strip().rpartition('/')[2]}"
