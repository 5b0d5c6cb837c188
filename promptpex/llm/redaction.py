"""The scanner for secrets: keys and tokens, kept out of everything that people may read.

One table says what keys look like. ``scrub`` hides them in messages, logs and files, ``holds_key`` refuses them in
names and settings, and whole requests and completions are cleaned before they are written down.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from promptpex.core.records import Completion, Request

HIDDEN = "[hidden]"


@dataclass(frozen=True, slots=True)
class KeyPattern:
    """What one kind of key looks like.

    Attributes:
        pattern: finds it.
        shown: what replaces it.
        needles: of each group one occurs in every text, lower-cased, that the pattern matches: a search for them is
            much faster than the pattern.
        ending: the same as a pattern; None = the needles say enough.
        drawn: what is refused for holding it must also look drawn at random; None = the pattern says enough.
    """

    pattern: re.Pattern[str]
    needles: tuple[tuple[bytes, ...], ...]
    shown: str = HIDDEN
    ending: re.Pattern[str] | None = None
    drawn: re.Pattern[str] | None = None


_RANDOM = re.compile(r"[A-Za-z0-9]{16}|(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{10}")
"""What words joined by dashes do not have: a long run, or a shorter one of letters and digits."""

KEY_PATTERNS = (
    KeyPattern(  # with a provider's own letters: OpenAI, Stripe, Groq, xAI, Hugging Face, GitHub, GitLab, Replicate ...
        re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|glpat|r8|pplx|nvapi|fw)[-_][A-Za-z0-9][A-Za-z0-9_-]{14,}"),
        ((b"-", b"_"),),
        ending=re.compile(r"[-_][A-Za-z0-9][A-Za-z0-9_-]{14}"),
        drawn=_RANDOM,
    ),
    KeyPattern(re.compile(r"\bAIza[0-9A-Za-z_-]{30,}"), ((b"aiza",),)),  # Google
    KeyPattern(re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), ((b"akia", b"asia"),)),  # AWS
    KeyPattern(  # JSON web tokens, RFC 7519
        re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"), ((b"eyj",),)
    ),
    KeyPattern(
        re.compile(r"(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE),
        ((b"bearer", b"basic"),),
        rf"\g<1>{HIDDEN}",
    ),
    KeyPattern(
        re.compile(
            r"""(["']?\b(?:api[-_]?key|access[-_]?token|x-api-key)["']?\s*[:=]\s*["']?)[^\s"'&,}]{8,}""", re.IGNORECASE
        ),
        ((b":", b"="), (b"key", b"token")),
        rf"\g<1>{HIDDEN}",
    ),
    KeyPattern(
        re.compile(r"(\bhttps?://)[^\s/@]+@", re.IGNORECASE), ((b"@",),), rf"\g<1>{HIDDEN}@"
    ),  # a user in an address
)

_VARIABLE_OF_KEY = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_SETTING_OF_KEY = re.compile(
    r"api[_-]?key|secret|password|passwd|credential|bearer|(?:^|[_-])(?:token|key)$", re.IGNORECASE
)
_FIELD_OF_KEY = re.compile(r"api[_-]?key\s*=", re.IGNORECASE)

_SPECIAL = b"-_:=@"
_ORDINARY = bytes(set(range(256)) - set(_SPECIAL))
_REMEMBERED = 256
"""Texts whose scrubbed form is remembered: prompts are written down again and again."""

_SHORTEST = 6
"""Characters of the shortest key that is looked for: the value of a variable named ``..._API_KEY``."""


def scrub(text: str) -> str:
    """``text`` with keys replaced by ``[hidden]``.

    Hidden are the values of environment variables that are named like keys and look like keys, and what matches
    ``KEY_PATTERNS``.
    """
    return _scrubbed(text, environment_keys())


def holds_key(text: str) -> bool:
    """Whether ``text`` certainly holds a key: one of the environment's, or one that looks like a key.

    Stricter than ``scrub``, as something is refused for it: ``hf-internal-testing-tiny-random-gpt2`` is a name.
    """
    if any(value in text for value in environment_keys()):
        return True
    return any(
        kind.drawn is None or kind.drawn.search(match[0])
        for kind in KEY_PATTERNS
        for match in kind.pattern.finditer(text)
    )


def names_key(setting: str) -> bool:
    return bool(_SETTING_OF_KEY.search(setting))


def names_variable_of_key(variable: str) -> bool:
    """Whether the value of an environment variable of this name is looked for in what is written down."""
    return bool(_VARIABLE_OF_KEY.search(variable))


def holds_key_field(text: str) -> bool:
    """Whether ``text`` gives a key by name, as in ``api_key=...``, whatever its value looks like."""
    return bool(_FIELD_OF_KEY.search(text))


def scrubbed_request(request: Request) -> tuple[dict[str, object], bool]:
    """The request as JSON-ready data with keys taken out, and whether there were any.

    Each text is scrubbed by itself, so that the data stays valid; a request that held a key has lost its id.
    """
    data, keys = request.to_dict(), environment_keys()
    clean = _each_text(data, lambda text: _scrubbed(text, keys))
    assert isinstance(clean, dict)
    return clean, clean != data


def without_own_keys(completion: Completion) -> Completion:
    """The completion without the keys of this machine, which a server may echo; most have none and are given back as
    they are. Log-probabilities, whose tokens spell the text, go with them."""
    keys = environment_keys()
    texts = (completion.text, completion.refusal, completion.reasoning, completion.model_reported)
    if not any(_without(text, keys) != text for text in (*texts, completion.finish_reason) if text):
        return completion
    plain = completion.model_dump(mode="json", exclude={"logprobs"})
    return Completion.model_validate(_each_text(plain, lambda text: _without(text, keys)))


def without_own_keys_in(value: Any) -> Any:
    keys = environment_keys()
    return _each_text(value, lambda text: _without(text, keys))


_ESCAPABLE = frozenset('"\\/')
"""Characters that JSON may write behind a backslash and that are themselves."""


def _without(text: str, keys: tuple[str, ...]) -> str:
    """Only these: what merely looks like a key may be what a prompt asks for. As JSON may write them, too: a reply
    that is read as JSON would spell them out again."""
    for key in keys:
        text = text.replace(key, HIDDEN)
        if "\\u" in text or ("\\" in text and _ESCAPABLE & set(key)):
            text = _escaped(key).sub(HIDDEN, text)
    return text


@lru_cache(maxsize=64)
def _escaped(key: str) -> re.Pattern[str]:
    """A key, each character of which may be written as JSON allows: as it is, behind a backslash, or by its code."""
    units = key.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2] for at in range(0, len(units), 2)]
    return re.compile("".join(_one_of(code.decode("utf-16-be", "surrogatepass"), code.hex()) for code in codes))


def _one_of(character: str, code: str) -> str:
    backslashes = r"\\?" if character in _ESCAPABLE else ""
    return rf"(?:{backslashes}{re.escape(character)}|\\u(?i:{code}))"


def _each_text(value: object, clean: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return clean(value) if len(value) >= _SHORTEST else value
    if isinstance(value, dict):
        return {key: _each_text(inner, clean) for key, inner in value.items()}
    if isinstance(value, list):
        return [_each_text(inner, clean) for inner in value]
    return value


@lru_cache(maxsize=_REMEMBERED)
def _scrubbed(text: str, values: tuple[str, ...]) -> str:
    """A pattern is tried only where it can match."""
    text = _without(text, values)
    lower = text.encode("utf-8", "surrogatepass").lower()
    special = lower.translate(None, _ORDINARY)
    for kind in KEY_PATTERNS:
        if kind.ending is not None and not kind.ending.search(text):
            continue
        if all(any(needle in (lower if len(needle) > 1 else special) for needle in group) for group in kind.needles):
            text = kind.pattern.sub(kind.shown, text)
    return text


def environment_keys() -> tuple[str, ...]:
    """Values in the environment that are keys by the name of their variable and by their looks, longest first."""
    return _keys_among(tuple((name, os.environ.get(name, "")) for name in _named_like_keys(tuple(os.environ))))


@lru_cache(maxsize=4)
def _named_like_keys(variables: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in variables if _VARIABLE_OF_KEY.search(name))


@lru_cache(maxsize=4)
def _keys_among(named: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    values = {
        value
        for name, value in named
        if _looks_like_a_key(value, shortest=_SHORTEST if name.endswith("_API_KEY") else 8)
    }
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def _looks_like_a_key(value: str, *, shortest: int) -> bool:
    """Long enough, no path, no sentence; so that ``TOKEN_MODE=production`` does not blank a common word."""
    if len(value) < shortest or "/" in value[:1] or any(char.isspace() for char in value):
        return False
    if len(value) < 8:
        return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return len(value) >= 16 or any(char.isdigit() for char in value)
