"""Keys and tokens, kept out of everything that people may read: messages, logs, recordings, files."""

from __future__ import annotations

import os
import re

HIDDEN = "[hidden]"

_NAMES = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_SHAPES = (
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat|r8|pplx|nvapi|fw)[-_][A-Za-z0-9][A-Za-z0-9_-]{14,}"),
    re.compile(r"\bAIza[0-9A-Za-z_-]{30,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"),
)
_HEADER = re.compile(r"(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE)
_FIELD = re.compile(
    r"""(["']?\b(?:api[-_]?key|access[-_]?token|x-api-key)["']?\s*[:=]\s*["']?)[^\s"'&,}]{8,}""", re.IGNORECASE
)
_USERINFO = re.compile(r"(\bhttps?://)[^\s/@]+@", re.IGNORECASE)

_HINTS = (
    *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "xai-", "xai_", "hf-", "hf_", "ghp", "gho", "glpat", "r8-", "r8_"),
    *("pplx", "nvapi", "fw-", "fw_", "aiza", "akia", "asia", "eyj", "bearer", "basic", "key", "token", "@"),
)
"""Lower-case text without any of these has nothing that the patterns above could find."""

_seen: tuple[object, tuple[str, ...]] = (None, ())


def scrub(text: str) -> str:
    """``text`` with keys replaced by ``[hidden]``.

    Hidden are the values of environment variables that are named like keys and look like keys, well-known shapes of
    keys (``sk-...``, ``hf_...``, web tokens), what follows ``Bearer``, ``api_key=`` fields, and users in addresses.
    """
    for value in planted():
        if value in text:
            text = text.replace(value, HIDDEN)
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return text
    for shape in _SHAPES:
        text = shape.sub(HIDDEN, text)
    text = _HEADER.sub(rf"\g<1>{HIDDEN}", text)
    text = _FIELD.sub(rf"\g<1>{HIDDEN}", text)
    return _USERINFO.sub(rf"\g<1>{HIDDEN}@", text)


def planted() -> tuple[str, ...]:
    """Values in the environment that are keys by the name of their variable and by their looks, longest first."""
    global _seen
    raw = getattr(os.environ, "_data", None)
    if raw is None or _seen[0] != raw:
        _seen = (dict(raw) if raw is not None else None, _planted())
    return _seen[1]


def _planted() -> tuple[str, ...]:
    values = {value for name, value in os.environ.items() if _NAMES.search(name) and _looks_like_a_key(value)}
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def _looks_like_a_key(value: str) -> bool:
    """Long enough, no path, no sentence; so that ``TOKEN_MODE=production`` does not blank a common word."""
    if len(value) < 8 or "/" in value[:1] or any(char.isspace() for char in value):
        return False
    return len(value) >= 16 or any(char.isdigit() for char in value)
