"""Names and texts of settings, for errors that say where and what was meant."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

DEAREST = 1_000_000
"""US dollars per million tokens that no price is above."""

NO_KEYS = (
    "API keys do not belong in settings, which are written into every run's manifest; put it into the environment "
    "variable that its provider names, such as OPENAI_API_KEY"
)


def flag_of(name: str) -> str:
    """The flag that gives a setting."""
    return f"--{name.replace('_', '-')}"


def texts_in(value: Any) -> Iterable[str]:
    """Every text in a value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (*texts_in(key), *texts_in(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)


def is_cut(value: Any) -> bool:
    """Whether a text in it holds half of a character, as those of the environment do that are no UTF-8."""
    return any("\ud800" <= letter <= "\udfff" for text in texts_in(value) for letter in text)


def line_of(name: str, text: str) -> int | None:
    """The line of a TOML text that sets a name; None where none is found."""
    word = re.escape(name).replace("_", "[_-]")
    found = re.search(rf"""(?m)^[ \t]*(?:\[+[^\]\n]*?)?["']?{word}["']?[ \t]*(?:=|\.|\])""", text)
    return text.count("\n", 0, found.start()) + 1 if found else None


def in_words(error: Mapping[str, Any]) -> str:
    """What is wrong with a setting's value, and the value: of one of the ``errors()`` of pydantic."""
    inner = "".join(f"{part}." for part in error["loc"][1:])
    said = str(error["msg"]).removeprefix("Value error, ").replace("Input should", "it should")
    said = said.replace("a valid tuple", "a list").replace("a valid dictionary", "a table")
    shown = json.dumps(error.get("input"), default=str, ensure_ascii=False)[:60]
    given = f", not {shown}" if str(error.get("input")).strip() else "; give one, or leave the setting out"
    return f"{inner[:-1] + ': ' if inner else ''}{said}{given}"


def near_name(name: str, known: Iterable[str], prefix: str = "") -> str:
    """The end of a sentence that names the likeliest of the known names; empty where none is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    shown = f"{prefix}{near[0].upper()}" if near and prefix else near[0] if near else ""
    return f"; did you mean {shown}?" if near else ""


def dollars(name: str, said: Any) -> tuple[float, float]:
    """The prices of input and output, US dollars per million tokens, from a pair or a table.

    Raises:
        ValueError: It is neither, or a price is not from 0 to ``DEAREST``.
    """
    if isinstance(said, Mapping) and set(said) == {"input", "output"}:
        said = (said["input"], said["output"])
    if not isinstance(said, list | tuple) or len(said) != 2:
        raise ValueError(f"the price of {name} needs 'input' and 'output', US dollars per million tokens")
    if any(not isinstance(part, int | float) or isinstance(part, bool) or not 0 <= part <= DEAREST for part in said):
        raise ValueError(f"the price of {name} must be two numbers from 0 to {DEAREST:,}")
    return float(said[0]), float(said[1])
