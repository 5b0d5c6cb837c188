"""Keys and tokens, kept out of everything that people may read: messages, logs, recordings, files."""

from __future__ import annotations

import os
import re
from functools import lru_cache

HIDDEN = "[hidden]"

_NAMES = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_PREFIXED = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat|r8|pplx|nvapi|fw)[-_][A-Za-z0-9][A-Za-z0-9_-]{14,}")
"""Keys that a provider's own letters begin."""
_PATTERNS: tuple[tuple[tuple[tuple[bytes, ...], ...], re.Pattern[str], str], ...] = (
    (((b"-", b"_"),), _PREFIXED, HIDDEN),
    (((b"aiza",),), re.compile(r"\bAIza[0-9A-Za-z_-]{30,}"), HIDDEN),
    (((b"akia", b"asia"),), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), HIDDEN),
    (((b"eyj",),), re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"), HIDDEN),
    (
        ((b"bearer", b"basic"),),
        re.compile(r"(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE),
        rf"\g<1>{HIDDEN}",
    ),
    (
        ((b":", b"="), (b"key", b"token")),
        re.compile(
            r"""(["']?\b(?:api[-_]?key|access[-_]?token|x-api-key)["']?\s*[:=]\s*["']?)[^\s"'&,}]{8,}""", re.IGNORECASE
        ),
        rf"\g<1>{HIDDEN}",
    ),
    (((b"@",),), re.compile(r"(\bhttps?://)[^\s/@]+@", re.IGNORECASE), rf"\g<1>{HIDDEN}@"),
)
"""Of each group one has to occur in the text, lower-cased, for the pattern to match; the pattern; what replaces it."""

_TAIL = re.compile(r"[-_][A-Za-z0-9][A-Za-z0-9_-]{14}")
"""The end of ``_PREFIXED``, which is found much faster than its beginning."""

_RANDOM = re.compile(r"[A-Za-z0-9]{16}|(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{10}")
"""What words joined by dashes do not have: a long run, or a shorter one of letters and digits."""

_ORDINARY = bytes(set(range(256)) - set(b"-_:=@"))
_REMEMBERED = 256


def scrub(text: str) -> str:
    """``text`` with keys replaced by ``[hidden]``.

    Hidden are the values of environment variables that are named like keys and look like keys, well-known shapes of
    keys (``sk-...``, ``hf_...``, web tokens), what follows ``Bearer``, ``api_key=`` fields, and users in addresses.
    """
    return _scrubbed(text, planted())


def holds_key(text: str) -> bool:
    """Whether ``text`` holds what is surely a key: one of the environment's, or a well-known shape of keys.

    Stricter than ``scrub``, as something is refused for it: what follows ``sk-`` or ``hf_`` has to look drawn at
    random, so that ``hf-internal-testing-tiny-random-gpt2`` is a name.
    """
    if any(value in text for value in planted()):
        return True
    found = [match for _, pattern, _ in _PATTERNS for match in pattern.finditer(text)]
    return any(match.re is not _PREFIXED or _RANDOM.search(match[0]) for match in found)


def without_own(text: str) -> str:
    """``text`` with the user's own keys, those of ``planted``, replaced by ``[hidden]``, and nothing else changed.

    For what models say: what merely looks like a key there may be what a prompt asks for.
    """
    for value in planted():
        text = text.replace(value, HIDDEN)
    return text


@lru_cache(maxsize=_REMEMBERED)
def _scrubbed(text: str, values: tuple[str, ...]) -> str:
    """Remembered, since prompts are written down again and again; a pattern is tried only where it can match."""
    for value in values:
        if value in text:
            text = text.replace(value, HIDDEN)
    lower = text.encode("utf-8", "surrogatepass").lower()
    special = lower.translate(None, _ORDINARY)
    for needed, pattern, shown in _PATTERNS:
        if pattern is _PREFIXED and not _TAIL.search(text):
            continue
        if all(any(each in (lower if len(each) > 1 else special) for each in group) for group in needed):
            text = pattern.sub(shown, text)
    return text


def planted() -> tuple[str, ...]:
    """Values in the environment that are keys by the name of their variable and by their looks, longest first."""
    return _keys_among(tuple((name, os.environ.get(name, "")) for name in _named_like_keys(tuple(os.environ))))


@lru_cache(maxsize=4)
def _named_like_keys(variables: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in variables if _NAMES.search(name))


@lru_cache(maxsize=4)
def _keys_among(named: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    values = {
        value for name, value in named if _looks_like_a_key(value, shortest=6 if name.endswith("_API_KEY") else 8)
    }
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def _looks_like_a_key(value: str, *, shortest: int) -> bool:
    """Long enough, no path, no sentence; so that ``TOKEN_MODE=production`` does not blank a common word."""
    if len(value) < shortest or "/" in value[:1] or any(char.isspace() for char in value):
        return False
    if len(value) < 8:
        return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return len(value) >= 16 or any(char.isdigit() for char in value)
