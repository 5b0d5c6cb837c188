"""Names of models: reading ``gpt-4o-mini?temperature=0,small=openai/x``, and telling who answers to a name.

Nothing is imported or asked over the network to tell; what litellm knows is in a table of ours.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl

from pydantic import ValidationError

from promptpex.codecs.text.wording import did_you_mean, with_hint
from promptpex.core.errors import ConfigError, UnknownModel
from promptpex.core.ids import digest
from promptpex.core.records import ModelName, Params
from promptpex.core.translation import stored
from promptpex.llm.named_models import NamedModels, check_name, spelled, split_name
from promptpex.llm.redaction import holds_key, scrub
from promptpex.llm.resolve_model import OPENAI, OWN_PREFIXES, Provider, resolve

NO_NAMES: NamedModels = {}
OPENAI_COMPATIBLE = "openai-compatible"

PARAMETERS = ("temperature", "max_tokens", "top_p", "seed", "stop", "logprobs")
"""What ``Params`` knows by name."""

FURTHER_PARAMETERS = (
    "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "repeat_penalty",
    "reasoning_effort", "verbosity", "think", "num_ctx",
)  # fmt: skip
"""What else may be said of a model: numbers and single words that shape how it samples or thinks, or how much context
an Ollama loads it with. Nothing else rides along, as libraries take addresses, keys and canned answers by the same
way. ``logit_bias`` is not among them: it is a table of token ids, which differ from model to model."""

_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,19}")
_NAME = re.compile(r"[^\s?#%\\]+")
_WORDS = ("reasoning_effort", "verbosity", "think")


def parse_models(
    text: str | Iterable[str], *, api_base: str | None = None, named: NamedModels = NO_NAMES
) -> tuple[ModelName, ...]:
    """The models that ``text`` names, in order.

    Args:
        text: names divided by commas, or several such texts. Parameters follow a ``?``, joined by ``&``: those of
            ``PARAMETERS`` and ``FURTHER_PARAMETERS``, and ``api_base``. ``NAME=`` before a model is what it is called.
        api_base: the server for those models that name none and whose provider takes one: names with ``openai/``,
            ``ollama/`` or a tag, and names that no provider is known for.
        named: the models that the settings name.

    Raises:
        ConfigError: an empty name, a parameter that cannot be used, the same label twice, or two names for what would
            be the same requests.
    """
    parts = [text] if isinstance(text, str) else list(text)
    labels = [label.strip() for part in parts for label in part.split(",")]
    models = tuple(parse_model(label, api_base=api_base, named=named) for label in labels if label)
    if not models:
        raise ConfigError("No model is named; write --models NAME,NAME.")
    seen: set[str] = set()
    for model in models:
        if model.label in seen:
            raise ConfigError(f"The model {scrub(model.label)} is named twice; name it once, or vary its parameters.")
        seen.add(model.label)
    _refuse_same_models(models)
    return models


def parse_model(label: str, *, api_base: str | None = None, named: NamedModels = NO_NAMES) -> ModelName:
    """One model; see ``parse_models``."""
    as_given = spelled(label, named)
    name, query = _checked_name(as_given.text)
    values: dict[str, object] = {}
    extra: dict[str, object] = {}
    own_base: str | None = None
    for key, value in _pairs(query, name):
        if key in values or key in extra or (key == "api_base" and own_base is not None):
            raise ConfigError(f"{name}: the parameter {key} is given twice; give it once.")
        if key == "api_base":
            own_base = _base(value, name)
        elif key in PARAMETERS:
            values[key] = (value,) if key == "stop" else value
        else:
            extra[key] = _further(key, value, name)
    base = _base_of(name, own_base, api_base)
    definition = as_given.definition
    if definition is not None and definition.key_env is not None and resolve(name, base).provider != OPENAI_COMPATIBLE:
        raise ConfigError(f"{as_given.label}: key_env is for openai/NAME; {name} takes its key from its own variable.")
    _refuse_unknown(name, base, named)
    return ModelName(
        name=name,
        params=_params(values, extra, name),
        api_base=base or base_of_environment(name),
        backend=None if base else backend_of_environment(name),
        label=as_given.label,
        spelled=as_given.text if as_given.is_named else None,
        key_env=definition.key_env if definition else None,
        price=definition.price if definition else None,
    )


def _base_of(name: str, own_base: str | None, api_base: str | None) -> str | None:
    return _own(own_base, name) or (_base(api_base, name) if api_base and takes_base(name) else None)


def _refuse_same_models(models: Iterable[ModelName]) -> None:
    """Refuses two names for one model: their answers would be the same ones, paid for once."""
    first_of: dict[str, ModelName] = {}
    for model in models:
        asked = digest([model.name, model.api_base, model.backend, model.params.to_dict()])
        same = first_of.setdefault(asked, model)
        if same is not model and (same.spelled or model.spelled):
            raise ConfigError(
                f"{scrub(same.label)} and {scrub(model.label)} are the same model with the same parameters; name it "
                "once, or vary its parameters."
            )


def _refuse_unknown(name: str, base: str | None, named: NamedModels) -> None:
    suggestion = did_you_mean(name, named) if resolve(name, base).provider is None else ""
    if suggestion:
        raise ConfigError(f"No model is called {name!r}; {suggestion}")


def check_label(label: str) -> None:
    """Refuses what must not stand in a model's name, before it is written anywhere.

    Raises:
        ConfigError: an unknown parameter, or what looks like a key; its value is not repeated.
    """
    alias, text = split_name(label)
    if alias is not None:
        check_name(alias)
    name, query = _checked_name(text)
    _pairs(query, name)


def provider_of(name: str, api_base: str | None = None) -> Provider:
    """Who answers to ``name`` at the server ``api_base``; see ``routes``.

    Raises:
        UnknownModel: none does; similar names are suggested.
    """
    provider = resolve(name, api_base).provider
    if provider is None:
        raise UnknownModel(_unknown(name), model=name)
    return provider


def takes_base(name: str) -> bool:
    """Whether ``--api-base`` is for this model; hosted models of other providers keep their own address."""
    return resolve(name).provider in ("openai-compatible", "ollama", None)


def base_of_environment(name: str) -> str | None:
    """The server that ``OPENAI_BASE_URL`` or ``OLLAMA_HOST`` names for this model, where it is not the usual one.

    It is part of what a request is: another server's answer is another answer.
    """
    from promptpex.llm.providers.ollama_admin import DEFAULT_HOST, host_url
    from promptpex.llm.providers.openai_compatible import api_root, own_base

    provider = resolve(name).provider
    if provider == "ollama":
        where = host_url()
        return None if where == DEFAULT_HOST else where
    if provider == "openai-compatible" and api_root(own_base()) != OPENAI:
        return api_root(own_base())
    return None


def backend_of_environment(name: str) -> str | None:
    """What the environment says of where litellm's models are asked: addresses, versions, regions; None if nothing."""
    if resolve(name).provider != "litellm":
        return None
    vendor = resolve(name).server.key.upper().replace("-", "_")
    aliases = {"VERTEX_AI": ("VERTEX", "VERTEXAI"), "BEDROCK": ("AWS",), "SAGEMAKER": ("AWS",), "OPENAI": ("OPENAI",)}
    starts = (vendor, *aliases.get(vendor, ()))
    places = {
        variable: value
        for variable, value in os.environ.items()
        if variable.startswith(tuple(f"{start}_" for start in starts))
        and variable.endswith(_PLACES)
        and value.strip()
        and not holds_key(value)
    }
    return " ".join(f"{variable}={scrub(places[variable])}" for variable in sorted(places)) or None


_PLACES = ("_API_BASE", "_BASE_URL", "_API_VERSION", "_REGION", "_REGION_NAME", "_LOCATION", "_PROJECT", "_ENDPOINT")


def _checked_name(label: str) -> tuple[str, str]:
    """A label's name and query. What litellm is handed may hold no address: some providers would ask there."""
    name, _, query = label.strip().partition("?")
    if not name or name.endswith("/") or any(char.isspace() or not char.isprintable() for char in name):
        shown_name = scrub(name or label)
        raise ConfigError(f"{shown_name!r} is not a model name; write NAME, NAME?temperature=0 or PROVIDER/NAME.")
    if holds_key(label):
        raise ConfigError(
            f"The model {scrub(name)} holds what looks like a key; names of models are written into every run. Put the "
            "key into the environment variable that its provider names, such as OPENAI_API_KEY."
        )
    prefix = name.partition("/")[0]
    local = prefix in OWN_PREFIXES and OWN_PREFIXES[prefix] in ("embedded", "replay", "fake")
    if not local and ("://" in name or not _NAME.fullmatch(name)):
        raise ConfigError(f"{scrub(name)!r} is not a model name: an address goes behind --api-base or ?api_base=.")
    return name, query


def _own(base: str | None, name: str) -> str | None:
    """The server in the name itself; a provider that has its own address takes none."""
    if base is not None and resolve(name, base).provider == "litellm":
        raise ConfigError(
            f"{name}: ?api_base= is for openai/NAME, ollama/NAME and names without a provider; this provider is asked "
            f"at its own address, or where the environment says. For a server that speaks OpenAI's API write "
            f"openai/{name}."
        )
    return base


def _pairs(query: str, name: str) -> list[tuple[str, str]]:
    if not query:
        return []
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError as error:
        raise ConfigError(f"{name}: the part after ? is not NAME=VALUE&NAME=VALUE; correct it.") from error
    for key, value in pairs:
        if key not in (*PARAMETERS, *FURTHER_PARAMETERS, "api_base"):
            parameter_names = ", ".join((*PARAMETERS, *FURTHER_PARAMETERS, "api_base"))
            suggestion = did_you_mean(key[:40], (*PARAMETERS, *FURTHER_PARAMETERS, "api_base"))
            message = with_hint(f"{name}: there is no parameter {scrub(key)[:40]!r}", suggestion.removesuffix("?"))
            raise ConfigError(f"{message}; these can be given: {parameter_names}.")
        if value == "":
            raise ConfigError(f"{name}: the parameter {key} has no value; write {key}=VALUE.")
    return pairs


def _further(key: str, value: str, name: str) -> object:
    """A number, true or false, or for those that take words one plain word."""
    try:
        read = json.loads(value, parse_constant=lambda constant: None)
    except (ValueError, RecursionError):
        read = value if _WORD.fullmatch(value) and key in _WORDS else None
    whole = key in ("top_k", "num_ctx")
    fits = isinstance(read, int if whole else (int, float)) and not isinstance(read, bool) and abs(read) < 2**31
    if fits or (key in _WORDS and isinstance(read, (bool, str))):
        return read
    wanted_kind = "a word, such as low" if key in _WORDS else "a whole number" if whole else "a number"
    raise ConfigError(f"{name}: the parameter {key} must be {wanted_kind}.")


def _base(value: str, name: str) -> str:
    from promptpex.llm.providers.http import checked_base

    try:
        return checked_base(value)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.message}") from error


def _params(values: dict[str, object], extra: dict[str, object], name: str) -> Params:
    try:
        params = Params.model_validate({**values, "extra": extra})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ConfigError(f"{name}: the parameter {first['loc'][0]} cannot be {first['input']!r}.") from error
    for key, low, high in (("temperature", 0.0, 100.0), ("top_p", 0.0, 1.0), ("max_tokens", 1, 2**31)):
        value = getattr(params, key)
        if value is not None and not low <= value <= high:
            raise ConfigError(f"{name}: the parameter {key} must be from {low:g} to {high:g}, not {value:g}.")
    return params


def _unknown(name: str) -> str:
    from promptpex.llm.providers.prices import known_models

    ways = {"ollama": f"ollama/{name}", "tagged": f"{name}:TAG", "openai": f"openai/{name}"}
    meant = did_you_mean(name, known_models(), count=3, likeness=0.75)
    if meant:
        return stored(
            "No provider is known for the model {model}; {part} Otherwise write {ollama} or {tagged} for Ollama, "
            "{openai} with --api-base for a server, or PROVIDER/NAME.",
            model=name,
            part=meant,
            **ways,
        )
    return stored(
        "No provider is known for the model {model}; write {ollama} or {tagged} for Ollama, {openai} with --api-base "
        "for a server, or PROVIDER/NAME.",
        model=name,
        **ways,
    )
