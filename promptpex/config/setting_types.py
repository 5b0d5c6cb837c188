"""The types of settings whose values are read in several forms: names, shares, weights, prices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema

from promptpex.config.wording import dollars
from promptpex.core import translation
from promptpex.core.errors import InputError
from promptpex.core.records import Record
from promptpex.core.shares import share
from promptpex.judging import modes


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
    """``none`` is not one of them."""
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
    """``rule=3,inverse=1`` as a table."""
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
