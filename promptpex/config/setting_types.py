"""The types of settings, effort presets, and names and texts of settings for errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema

from promptpex.codecs.text.wording import MAPPING, SHAPES, wanted
from promptpex.core import translation
from promptpex.core.errors import ConfigError, InputError
from promptpex.core.records import Record
from promptpex.core.shares import share
from promptpex.core.surrogates import has_surrogate
from promptpex.judging import modes
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
    return error["msg"].removeprefix("Value error, ")


def flag_of(name: str) -> str:
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
    """What is wrong with a setting's value, and the value: from one of pydantic's ``errors()``."""
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
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def toml_value(value: object) -> str:
    """A text, number, list or mapping; mappings as inline tables. TOML has nothing for None."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(str(key))} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float


class ScenarioSetting(Record):
    """A named set of extra input constraints, and of variables with a fixed value."""

    name: str = Field(min_length=1, description="What tables call it.", examples=["angry customer"])
    constraints: tuple[str, ...] = Field(
        default=(),
        description="Sentences about the inputs, on top of those of the spec.",
        examples=[["The customer is angry."]],
    )
    fixed: dict[str, object] = Field(
        default_factory=dict,
        description="Variables that have this value in every case of the scenario.",
        examples=[{"channel": "mail"}],
    )


def _mode(value: str) -> str:
    if value not in modes.names():
        raise ValueError(f"there is no judge mode {value!r}; they are {', '.join(modes.names())}")
    return value


def _report_language(value: str) -> str:
    if value not in translation.languages():
        raise ValueError(f"there is no report language {value!r}; there are {', '.join(translation.languages())}")
    return value


def _model_name(value: str) -> str:
    if not value.strip():
        raise ValueError("it names no model")
    return value


def _model_names(value: object) -> object:
    if isinstance(value, str) and not value.replace(",", "").strip():
        raise ValueError("it names no model")
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _metric_names(value: object) -> object:
    names = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    return () if names == ["none"] else names


def _path(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


def _share(value: object, info: ValidationInfo) -> object:
    """``5%`` is 0.05."""
    example = "95% or 0.95" if info.field_name == "confidence" else "10% or 0.1"
    if isinstance(value, str) and value.strip():
        try:
            return float(share(value, example))
        except InputError as error:
            raise ValueError(error.message) from error
    if isinstance(value, int | float) and not 0 <= value <= 1:
        raise ValueError(f"{value!r} is not a share: write {example}")
    return value


def _weights(value: object) -> object:
    if not isinstance(value, str):
        return value
    pairs = [part.rpartition("=") for part in value.split(",") if part.strip()]
    if not all(name.strip() and times.strip().isdecimal() for name, _, times in pairs):
        raise ValueError("weights are whole numbers by kind or rule, such as rule=3,inverse=1")
    return {name.strip(): int(times) for name, _, times in pairs}


def _prices(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {name: Price(*dollars(name, price)) for name, price in value.items()}


_TEXTS = WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}, "pattern": r"[^\s,]"})
_PERCENT = r"^\s*(\d+(\.\d+)?|\.\d+)\s*%\s*$"
_SHARE = WithJsonSchema({"type": ["number", "string"], "minimum": 0, "maximum": 1, "pattern": _PERCENT})
_OPEN_SHARE = WithJsonSchema(
    {"type": ["number", "string"], "exclusiveMinimum": 0, "exclusiveMaximum": 1, "pattern": _PERCENT}
)
_DOLLARS = {"type": "number", "minimum": 0}
_PRICE_TABLE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["input", "output"],
    "properties": {
        "input": {**_DOLLARS, "description": "US dollars per million tokens of requests.", "examples": [0.1]},
        "output": {**_DOLLARS, "description": "US dollars per million tokens of answers.", "examples": [0.4]},
    },
}
_PRICE = {"anyOf": [_PRICE_TABLE, {"type": "array", "items": _DOLLARS, "minItems": 2, "maxItems": 2}]}
_TIMES = {"type": "integer", "minimum": 0, "maximum": 1000}

EngineName = Literal["local", "ray"]
JudgeMode = Annotated[str, AfterValidator(_mode), Field(json_schema_extra={"enum": list(modes.names())})]
ReportLanguage = Annotated[
    str, AfterValidator(_report_language), Field(json_schema_extra={"enum": list(translation.languages())})
]
ModelName = Annotated[str, AfterValidator(_model_name), Field(json_schema_extra={"pattern": r"\S"})]
ModelNames = Annotated[tuple[str, ...], BeforeValidator(_model_names), _TEXTS]
"""A list, or texts between commas."""
MetricNames = Annotated[tuple[str, ...] | None, BeforeValidator(_metric_names), _TEXTS]
PathText = Annotated[str, BeforeValidator(_path)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_share), _SHARE]
"""A number from 0 to 1, or a text such as ``5%``."""
OpenShare = Annotated[float, Field(gt=0, lt=1), BeforeValidator(_share), _OPEN_SHARE]
"""A share that is neither 0 nor 1."""
Weights = Annotated[
    dict[str, Annotated[int, Field(ge=0, le=1000)]],
    BeforeValidator(_weights),
    WithJsonSchema({"type": ["string", "object"], "additionalProperties": _TIMES}),
]
Prices = Annotated[
    dict[str, Price],
    BeforeValidator(_prices),
    WithJsonSchema({"type": "object", "additionalProperties": _PRICE}),
]


Effort = Literal["min", "low", "medium", "high"]

EFFORT: dict[str, dict[str, int]] = {
    "min": {
        "max_rules": 10, "cases_per_rule": 1, "inverse_cases": 0, "rounds": 1, "expansion": 0, "repeats": 1,
        "validity": False, "checks": True, "verify": False,
    },
    "low": {
        "max_rules": 20, "cases_per_rule": 1, "inverse_cases": 1, "rounds": 1, "expansion": 0, "repeats": 1,
        "validity": False, "checks": True, "verify": False,
    },
    "medium": {
        "max_rules": 30, "cases_per_rule": 2, "inverse_cases": 2, "rounds": 1, "expansion": 0, "repeats": 2,
        "validity": True, "checks": True, "verify": False,
    },
    "high": {
        "max_rules": 60, "cases_per_rule": 3, "inverse_cases": 3, "rounds": 2, "expansion": 1, "repeats": 3,
        "validity": True, "checks": True, "verify": True,
    },
}  # fmt: skip
"""What each effort sets where nothing else does. Nothing decreases from one row to the next; the defaults lie between
``low`` and ``medium``."""


def checked_effort(effort: object, *, path: Path | str | None = None) -> str:
    """An effort as given.

    Raises:
        ConfigError: there is no such effort.
    """
    if not isinstance(effort, str) or effort not in EFFORT:
        raise ConfigError(f"the effort {effort!r} is not one of {', '.join(EFFORT)}", path=path)
    return effort


def apply_preset(values: dict[str, object], origins: dict[str, str]) -> None:
    """Adds what the effort sets to ``values``, where they do not set it, and says so in ``origins``."""
    effort = values.get("effort")
    for name, value in EFFORT.get(str(effort), {}).items():
        if name not in values:
            values[name] = value
            origins[name] = f"preset {effort}"
