"""Names that users give to models: ``small=openai/x?api_base=...``, and ``[models.small]`` in a settings file.

A name is what tables, files and progress call the model. What is asked does not depend on it.

Parameters that the prompt files of other tools set (Prompty's and GitHub's words) are read here as well.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pydantic import Field, field_validator, model_validator

from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import ConfigError
from promptpex.core.records import Params, Record
from promptpex.llm.redaction import names_variable_of_key, scrub
from promptpex.llm.resolve_model import MAX_PRICE, is_provider, resolve

NAMES: Mapping[str, str] = {
    "temperature": "temperature",
    "max_tokens": "max_tokens", "maxTokens": "max_tokens", "maxOutputTokens": "max_tokens",
    "maxCompletionTokens": "max_tokens", "max_completion_tokens": "max_tokens",
    "top_p": "top_p", "topP": "top_p", "seed": "seed",
    "presence_penalty": "presence_penalty", "presencePenalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty", "frequencyPenalty": "frequency_penalty",
}  # fmt: skip
"""What the parameters are called there, and here."""

_STOPS = ("stop", "stopSequences")
_OWN = ("temperature", "max_tokens", "top_p", "seed")
"""Those that ``Params`` has a field for; the others are further ones."""
_WHOLE = ("max_tokens", "seed")
_LIMITS = {"temperature": (0, 100), "max_tokens": (1, 2**31), "top_p": (0, 1)}


def read_parameters(about: Mapping[Any, Any]) -> tuple[Params, tuple[str, ...]]:
    """What is said of a request, and the names of what no request takes here or whose value makes no sense."""
    values: dict[str, Any] = {}
    unused = []
    for name, value in about.items():
        if name in _STOPS and (stops := _texts(value)):
            values["stop"] = stops
        elif name in NAMES and _fits(NAMES[name], value):
            values[NAMES[name]] = value
        elif value is not None:
            unused.append(str(name)[:40])
    extra = {name: value for name, value in values.items() if name not in (*_OWN, "stop")}
    return Params(**{name: value for name, value in values.items() if name not in extra}, extra=extra), tuple(unused)


def settings_of(about: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The same as a table ``[models.NAME]`` of settings has it, where ``stop`` is one text."""
    params, unused = read_parameters(about)
    table = params.model_dump(exclude_defaults=True, exclude={"extra", "stop"}) | params.extra
    if params.stop is not None and len(params.stop) == 1:
        table["stop"] = params.stop[0]
    elif params.stop is not None:
        unused = (*unused, *(str(name) for name in about if name in _STOPS))
    return table, unused


def _texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(texts) if all(isinstance(text, str) and text for text in texts) else ()


def _fits(name: str, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if name in _WHOLE else int | float):
        return False
    low, high = _LIMITS.get(name, (-(2**31), 2**31))
    return low <= value <= high


UNDER_TEST = "under_test"
"""The key beside the named models of a settings file that lists the models under test."""
RESERVED = ("none", UNDER_TEST)

_NAME = re.compile(r"[^\W_][\w.-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_NOT_PARAMETERS = ("model", "api_base", "key_env", "price_input", "price_output")


class NamedModel(Record):
    """A model of the settings that has a name."""

    model: str = Field(
        min_length=1,
        description="What is asked, as on the command line, parameters behind ? included.",
        examples=["openai/x", "llama3.2:1b?temperature=0"],
    )
    api_base: str | None = Field(
        default=None, description="The base URL of its server.", examples=["http://127.0.0.1:8080/v1"]
    )
    key_env: str | None = Field(
        default=None,
        description="The environment variable with the key of its server.",
        examples=["SMALL_API_KEY"],
    )
    price_input: float | None = Field(
        default=None,
        ge=0,
        le=MAX_PRICE,
        description="US dollars per million tokens of requests; together with price_output.",
        examples=[0.1],
    )
    price_output: float | None = Field(
        default=None,
        ge=0,
        le=MAX_PRICE,
        description="US dollars per million tokens of answers; together with price_input.",
        examples=[0.4],
    )
    temperature: float | None = Field(
        default=None, description="How much chance there is in its answers.", examples=[0.7]
    )
    max_tokens: int | None = Field(default=None, description="Its longest answer, in tokens.", examples=[512])
    top_p: float | None = Field(
        default=None,
        description="It draws from the likeliest words that have this share of the probability together.",
        examples=[0.9],
    )
    seed: int | None = Field(
        default=None, description="What it draws at random begins with it, where the provider takes one.", examples=[7]
    )
    stop: str | None = Field(default=None, description="A text at which its answer ends.", examples=["END"])
    logprobs: bool | None = Field(
        default=None, description="Whether it gives log-probabilities, as perplexity needs them.", examples=[True]
    )
    top_k: int | None = Field(default=None, description="It draws from so many likeliest words.", examples=[40])
    min_p: float | None = Field(
        default=None,
        description="It draws no word whose probability is below this share of the likeliest one.",
        examples=[0.05],
    )
    presence_penalty: float | None = Field(
        default=None, description="How much less likely a word is that has been used.", examples=[0.5]
    )
    frequency_penalty: float | None = Field(
        default=None, description="How much less likely a word becomes each time it is used.", examples=[0.5]
    )
    repetition_penalty: float | None = Field(
        default=None,
        description="The factor by which used words are less likely, as some servers call it.",
        examples=[1.1],
    )
    repeat_penalty: float | None = Field(
        default=None, description="The factor by which used words are less likely, as Ollama calls it.", examples=[1.1]
    )
    reasoning_effort: str | None = Field(
        default=None, description="How long it thinks, in the provider's words.", examples=["low"]
    )
    verbosity: str | None = Field(
        default=None, description="How much it writes, in the provider's words.", examples=["low"]
    )
    think: bool | str | None = Field(
        default=None, description="Whether an Ollama model thinks, or how much.", examples=[False]
    )
    num_ctx: int | None = Field(default=None, description="The context of an Ollama model, in tokens.", examples=[8192])

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: object) -> object:
        for key in value if isinstance(value, Mapping) else ():
            if key not in cls.model_fields:
                suggestion = did_you_mean(str(key), cls.model_fields)
                raise ValueError(
                    f"there is no key {scrub(str(key))[:40]!r} for a model{'; ' + suggestion if suggestion else ''}"
                )
        return value

    @field_validator("api_base", mode="before")
    @classmethod
    def _servers(cls, value: object) -> object:
        if isinstance(value, list | tuple):
            raise ValueError("it should be one address; for several servers put a proxy in front of them and name that")
        if value is not None and not isinstance(value, str):
            raise ValueError("it should be the address of a server in quotes")
        return value

    @model_validator(mode="after")
    def _whole(self) -> NamedModel:
        if (self.price_input is None) != (self.price_output is None):
            raise ValueError("price_input and price_output belong together; give both")
        if self.key_env is not None and not _VARIABLE.fullmatch(self.key_env):
            raise ValueError("key_env must be the name of an environment variable, such as SMALL_API_KEY")
        if self.key_env is not None and not names_variable_of_key(self.key_env):
            raise ValueError(
                f"key_env is {self.key_env}, which is not named like a key, so its value could not be kept out of "
                "reports; choose a name such as SMALL_API_KEY"
            )
        return self

    @property
    def price(self) -> tuple[float, float] | None:
        if self.price_input is None or self.price_output is None:
            return None
        return self.price_input, self.price_output

    def text(self, query: str = "") -> str:
        """The model as it would be written without its name; what ``query`` sets goes before its own parameters."""
        own_name, _, own_query = self.model.strip().partition("?")
        given_names = {pair.partition("=")[0] for pair in query.split("&")}
        fixed = [pair for pair in own_query.split("&") if pair and pair.partition("=")[0] not in given_names]
        pairs = [(key, _as_text(value)) for key, value in self._parameters() if key not in given_names]
        parts = [*fixed, *([urlencode(pairs, safe="/:")] if pairs else []), *([query] if query else [])]
        return f"{own_name}?{'&'.join(parts)}" if parts else own_name

    def _parameters(self) -> Iterable[tuple[str, object]]:
        names = [name for name in type(self).model_fields if name not in _NOT_PARAMETERS]
        return [(name, getattr(self, name)) for name in [*names, "api_base"] if getattr(self, name) is not None]


NamedModels = Mapping[str, NamedModel]


@dataclass(frozen=True, slots=True)
class Spelled:
    """What stands for a model on the command line or in a list, taken apart.

    Attributes:
        label: what tables call the model.
        text: the model without a name, with its parameters.
        query: the parameters that stand on the command line or in the list itself.
        source: the name in the settings that it refers to.
        definition: what the settings say of that name.
    """

    label: str
    text: str
    query: str = ""
    source: str | None = None
    definition: NamedModel | None = None

    @property
    def is_named(self) -> bool:
        return self.label != self.text

    @property
    def has_own_base(self) -> bool:
        return any(pair.startswith("api_base=") for pair in self.query.split("&"))


def spelled(label: str, named: NamedModels) -> Spelled:
    """``label``, which may be ``NAME=MODEL`` or refer to a named model, taken apart.

    Raises:
        ConfigError: a name that cannot be one, or that is taken.
    """
    name, text = split_name(label)
    if name is not None:
        check_name(name)
        if name in named:
            raise ConfigError(
                f"The name {name} is given here and in [models.{name}] of the settings; write {name} alone, or choose "
                "another name."
            )
    head, _, query = text.partition("?")
    definition = named.get(head)
    if definition is None:
        return Spelled(name or text, text, query)
    return Spelled(name or text, definition.text(query), query, head, definition)


def split_name(label: str) -> tuple[str | None, str]:
    """The name and the model of ``NAME=MODEL``; None and the whole text where no name is given.

    Raises:
        ConfigError: what stands before the ``=`` cannot be a name, or nothing follows it.
    """
    text = label.strip()
    head, equals, rest = text.partition("=")
    if not equals or any(sign in head for sign in "/:?"):
        return None, text
    name, model = head.strip(), rest.strip()
    _refuse_odd(name)
    if not model:
        raise ConfigError(f"{name}= names no model; write {name}=PROVIDER/MODEL.")
    return name, model


def free_name(wanted: str, taken: Container[str] = ()) -> str:
    stem = re.sub(r"[^\w.-]+", "-", wanted).strip("-_.")[:30].strip("-_.") or "model"
    numbered = (f"{name}-{number}" for number in range(2, 10_000) for name in (stem, "model"))
    names = itertools.chain((stem, f"my-{stem}"), numbered)
    return next(name for name in names if name not in taken and _is_usable(name))


def _is_usable(name: str) -> bool:
    try:
        check_name(name)
    except ConfigError:
        return False
    return True


def check_name(name: str) -> None:
    """Refuses a name that people would take for something else.

    Raises:
        ConfigError: it is not a name, it is reserved, or it is itself a model or a provider.
    """
    _refuse_odd(name)
    if name in RESERVED:
        raise ConfigError(f"The name {name} has a meaning of its own; choose another name for the model.")
    if is_provider(name):
        raise ConfigError(f"The name {name} is that of a provider; choose another name for the model.")
    if resolve(name).provider is not None:
        raise ConfigError(f"The name {name} is that of a model itself; choose another name.")


def _refuse_odd(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{scrub(name)[:60]!r} cannot be the name of a model; take up to 40 letters, digits, '.', '_' and '-'."
        )


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
