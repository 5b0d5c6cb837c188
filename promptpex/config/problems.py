"""What is wrong with settings: unknown names, values of the wrong kind, keys; all of it at once, with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from promptpex.codecs.text.wording import MOST_HINTS, did_you_mean, with_hint
from promptpex.config.named_models import NAMED, named_problems
from promptpex.config.settings import Settings
from promptpex.config.sources import GONE, Layer, setting_error
from promptpex.config.wording import NO_KEYS, in_words, is_not_utf8, texts_in
from promptpex.core.errors import ConfigError
from promptpex.core.store_address import is_address, server_at
from promptpex.llm.names import check_label
from promptpex.llm.redaction import holds_key, holds_key_field, names_key, scrub

LABELS = ("models", "author", "judge", "expected", "against")
"""Settings that name models, with their parameters."""


def raise_problems(problems: Sequence[ConfigError]) -> None:
    """Raises what is wrong with the settings, all of it at once."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        ordered = sorted(problems, key=lambda problem: (str(problem.path), problem.line or 0))
        lines = "\n".join(f"  {problem}" for problem in ordered)
        message = f"{len(problems)} problems with the settings have to be fixed first:\n{lines}"
        raise ConfigError(message, path=problems[0].path)


def problems_of(layer: Layer) -> list[ConfigError]:
    """What is wrong with the settings of one layer, each with its place; the first problem of each setting."""
    firsts: dict[str, ConfigError] = {}
    for name, value in layer.values.items():
        if len(firsts) == MOST_HINTS:
            break
        message = None if name == NAMED else _unknown(name) or _with_key(name, value)
        if message is not None:
            firsts[name] = setting_error(layer, name, message)
    for model, message in named_problems(layer.values.get(NAMED, {})):
        place = f"models.{model}" if model is not None and layer.path is not None else NAMED
        which = f"{model}: " if model is not None and place == NAMED else ""
        firsts[place] = setting_error(layer, place, f"{which}{message}")
    for name, message in _invalid({name: value for name, value in layer.values.items() if name != NAMED}):
        firsts.setdefault(name, setting_error(layer, name, message))
    return list(firsts.values())


def _unknown(name: str) -> str | None:
    if name in Settings.model_fields:
        return None
    if names_key(name):
        return NO_KEYS
    return GONE.get(name) or with_hint("there is no such setting", did_you_mean(name, Settings.model_fields))


def _with_key(name: str, value: object) -> str | None:
    texts = list(texts_in(value))
    if any(holds_key(text) or holds_key_field(text) for text in texts):
        return NO_KEYS
    try:
        _check_texts(name, texts)
    except ConfigError as error:
        return scrub(error.message)
    return None


def _check_texts(name: str, texts: Sequence[str]) -> None:
    """Refuses a bad name or address of a model here, where its place is known, and before anything is stored."""
    for label in ",".join(texts).split(",") if name in LABELS else ():
        if label.strip():
            check_label(label)
    if name == "api_base" and texts:
        from promptpex.llm.providers.http import checked_base

        checked_base(texts[0])
    if name == "store" and texts and is_address(texts[0]):
        server_at(texts[0])


def _example(name: str) -> object:
    field = Settings.model_fields.get(name)
    return field.examples[0] if field is not None and field.examples else None


def _invalid(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """The names of settings with a value of the wrong kind, and what is wrong with it."""
    try:
        Settings.model_validate(values)
    except ValidationError as failure:
        errors = failure.errors(include_url=False)[:MOST_HINTS]
        named = [(str(error["loc"][0]) if error["loc"] else "", error) for error in errors]
        return [(name, in_words(error, example=_example(name))) for name, error in named]
    except UnicodeEncodeError:
        return [(name, "it holds bytes that are not UTF-8") for name, value in values.items() if is_not_utf8(value)]
    return []
