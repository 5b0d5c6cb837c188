"""Names and texts of settings, for errors that say where and what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from promptpex.codecs.text.wording import MAPPING, SHAPES, wanted
from promptpex.core.surrogates import has_surrogate
from promptpex.llm.resolve_model import MAX_PRICE

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

NO_KEYS = (
    "API keys do not belong in settings, which are written into every run's manifest; put it into the environment "
    "variable that its provider names, such as OPENAI_API_KEY"
)


_IN_TOML = {MAPPING: "a table"}
_TYPES = ("bool", "str")
"""Parts of a place that only say which of several types was tried."""


def _own(error: ErrorDetails) -> str:
    """What one of our own checks says."""
    return error["msg"].removeprefix("Value error, ")


def flag_of(name: str) -> str:
    """The flag that gives a setting."""
    return f"--{name.replace('_', '-')}"


def texts_in(value: object) -> Iterable[str]:
    """Every text in a value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (*texts_in(key), *texts_in(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)


def is_not_utf8(value: object) -> bool:
    """Whether a text in it holds half of a character, as a variable does that is not UTF-8."""
    return any(has_surrogate(text) for text in texts_in(value))


def line_of(name: str, text: str) -> int | None:
    """The line of a TOML text that sets a name; None where it is not found."""
    word = re.escape(name).replace("_", "[_-]")
    match = re.search(rf"""(?m)^[ \t]*(?:\[+[^\]\n]*?)?["']?{word}["']?[ \t]*(?:=|\.|\])""", text)
    return text.count("\n", 0, match.start()) + 1 if match else None


def in_words(error: ErrorDetails, *, within: int = 1, example: object = None) -> str:
    """What is wrong with a setting's value, and the value: from one of pydantic's ``errors()``.

    Args:
        within: how many parts of the place are named already.
        example: a value that the setting may have.
    """
    inner = "".join(f"{part}." for part in error["loc"][within:] if part not in _TYPES)
    value = wanted(error)
    shows = value in SHAPES and example is not None and len(error["loc"]) <= 1
    such = f", such as {toml_value(example)}" if shows else ""
    message = f"it should be {_IN_TOML.get(value, value)}{such}" if value else _own(error)
    value_text = json.dumps(error.get("input"), default=str, ensure_ascii=False)[:60]
    not_value = f", not {value_text}" if str(error.get("input")).strip() else "; give one, or leave the setting out"
    if error["type"] == "missing":
        return f"{inner[:-1]} is missing"
    if error["type"] == "value_error" and (
        isinstance(error.get("input"), Mapping) or repr(error.get("input")) in message
    ):
        not_value = ""
    return f"{inner[:-1] + ': ' if inner else ''}{message}{not_value}"


def dollars(name: str, price: object) -> tuple[float, float]:
    """The prices of input and output, US dollars per million tokens, from a pair or a table.

    Raises:
        ValueError: it is neither, or a price is not from 0 to ``MAX_PRICE``.
    """
    if isinstance(price, Mapping) and set(price) == {"input", "output"}:
        price = (price["input"], price["output"])
    if not isinstance(price, list | tuple) or len(price) != 2:
        raise ValueError(f"the price of {name} needs 'input' and 'output', US dollars per million tokens")
    if any(not isinstance(part, int | float) or isinstance(part, bool) or not 0 <= part <= MAX_PRICE for part in price):
        raise ValueError(f"the price of {name} must be two numbers from 0 to {MAX_PRICE:,}")
    return float(price[0]), float(price[1])


def toml_key(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def toml_value(value: object) -> str:
    """A text, number, list or mapping; mappings as inline tables. TOML has nothing for None."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(str(key))} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
