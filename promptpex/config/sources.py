"""The places that settings come from, each read into a layer, and all that is wrong with one, with its place."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from promptpex.codecs.files.find_settings_files import PROJECT, find_file, not_obeyed, user_file
from promptpex.codecs.files.ordinary_files import read_text
from promptpex.codecs.text.wording import MOST_HINTS, did_you_mean, with_hint
from promptpex.config.setting_types import NO_KEYS, flag_of, in_words, is_not_utf8, line_of, texts_in
from promptpex.config.settings import Settings
from promptpex.core.errors import ConfigError
from promptpex.core.store_address import is_address, server_at
from promptpex.core.translation import stored
from promptpex.llm.named_models import UNDER_TEST, NamedModel, check_name, spelled, split_name
from promptpex.llm.names import check_label, parse_model
from promptpex.llm.redaction import holds_key, holds_key_field, names_key, scrub

if TYPE_CHECKING:
    from promptpex.config.settings import Settings


NAMED = "named_models"
"""The setting that a file's tables ``[models.NAME]`` make up."""


def with_models_split(values: dict[str, Any]) -> dict[str, Any]:
    """A file's settings, with ``[models.NAME]`` and ``under_test`` as the settings that they are."""
    models = values.get("models")
    if not isinstance(models, Mapping):
        return values
    apart = {name: value for name, value in values.items() if name != "models"}
    apart[NAMED] = {name: value for name, value in models.items() if name != UNDER_TEST}
    if UNDER_TEST in models:
        apart["models"] = models[UNDER_TEST]
    return apart


def named_problems(named: object) -> list[tuple[str | None, str]]:
    """What is wrong with named models: the name (None: all of them), and a sentence that repeats no key."""
    if not isinstance(named, Mapping):
        return [(None, "it should be a table of models by their names")]
    if not all(isinstance(name, str) for name in named):
        return [(None, "names of models are texts")]
    problems = ((name, _problem(name, entry)) for name, entry in named.items())
    return [*islice(((name, problem) for name, problem in problems if problem is not None), MOST_HINTS)]


def _problem(name: str, entry: object) -> str | None:
    if not isinstance(entry, Mapping):
        return "it should be a table, such as {model = 'openai/x'}; models under test stand in under_test"
    if any(names_key(str(key)) for key in entry) or any(holds_key(text) for text in texts_in(entry)):
        return f"{NO_KEYS}, and name that variable with key_env"
    try:
        check_name(name)
        definition = NamedModel.model_validate(entry)
        if split_name(definition.model)[0] is not None:
            return f"the model has a name already; write model = {split_name(definition.model)[1]!r}"
        parse_model(name, named={name: definition})
    except ValidationError as failure:
        return in_words(failure.errors(include_url=False)[0], within=0)
    except ConfigError as error:
        return scrub(error.message)
    return None


def require_one_meaning(settings: Settings) -> None:
    """Refuses a name that stands for one model in one role and for another in another.

    Raises:
        ConfigError: with both.
    """
    meaning: dict[str, str] = {}
    singles = [label for label in (settings.author, settings.expected) if label]
    for label in (*settings.models, *settings.judge, *singles):
        named = spelled(label, settings.named_models)
        if meaning.setdefault(named.label, named.text) != named.text:
            raise ConfigError(
                f"The name {named.label} is given to {meaning[named.label]} and to {named.text}; choose another for "
                "one of them."
            )


PREFIX = "PROMPTPEX_"
SWITCHES = ("no_config", "trust_settings")
"""Switches about settings files themselves, so that only flags and the environment can set them."""

OTHER_VARIABLES = frozenset({"config", "debug", "api_key", *SWITCHES})
"""Variables with our prefix that are not settings: the file, tracebacks, the key of the user's own server."""

ARGUMENT = "argument"
GIVEN = ("flag", ARGUMENT)
"""Origins of what was given to this very command, or to a function of the library."""

ROLES = ("models", "author", "judge")
"""Settings whose variable may not be empty: another model would be asked than was meant, and paid."""


class Layer(NamedTuple):
    """Settings from one place.

    Attributes:
        where: names the place in ``Resolved.origins``.
        values: by the settings' names.
        path, text: the file and what it says, where it is one.
    """

    where: str
    values: dict[str, object]
    path: Path | None = None
    text: str = ""


def switched(name: str, given: object, env: Mapping[str, str]) -> bool:
    """A switch as its flag gives it, else as its variable says.

    Raises:
        ConfigError: the variable is neither true nor false.
    """
    text = env.get(f"{PREFIX}{name.upper()}", "").strip().lower()
    if text not in ("", "0", "1", "false", "true", "no", "yes"):
        raise ConfigError(f"{PREFIX}{name.upper()} must be true or false")
    return bool(given) if given is not None else text in ("1", "true", "yes")


def user_layer(warnings: list[str]) -> Layer:
    """The user's own file; empty where there is none, or where it is not obeyed, which ``warnings`` then says."""
    path = user_file()
    if not path.is_file():
        return Layer("file", {})
    why = not_obeyed(path, path.parent)
    if why is not None:
        warnings.append(stored("{file} is ignored: {reason}", file=path, reason=why))
        return Layer("file", {})
    return _read(path, f"user file {path.name}")


def project_layer(named: Path | None, start: Path, warnings: list[str]) -> Layer:
    """The project's file, ``named`` or found from ``start`` upward; empty as in ``user_layer``."""
    path = named or find_file(start)
    if path is None:
        return Layer("file", {})
    why = None if named else not_obeyed(path, start)
    if why is not None:
        warnings.append(stored("{file} is ignored: {reason}; name it with --config to use it", file=path, reason=why))
        return Layer("file", {})
    return _read(path, f"file {path.name}")


MOST_PARTS = 1_000
"""Dots before the first ``=`` of a line: reading a key takes the square of its parts."""


def _read(path: Path, where: str) -> Layer:
    try:
        text = read_text(path, error=ConfigError, what="settings file")
    except ConfigError as failure:
        if failure.message.endswith("is empty"):
            return Layer(where, {}, path)
        raise
    for number, content in enumerate(text.splitlines(), 1):
        if content.partition("=")[0].count(".") > MOST_PARTS:
            raise ConfigError(f"the key has more than {MOST_PARTS:,} parts", path=path, line=number)
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as failure:  # a number too long is a ValueError alone
        place = re.search(r"at line (\d+)", str(failure))
        line = int(place.group(1)) if place else None
        reason = re.sub(r" \(at .*\)$", "", str(failure))
        raise ConfigError(f"the settings file is not valid TOML: {reason}", path=path, line=line) from None
    if path.name == PROJECT:
        tool = data.get("tool")
        data = tool.get("promptpex", {}) if isinstance(tool, dict) else {}
    if not isinstance(data, dict):
        raise ConfigError("[tool.promptpex] must be a table", path=path)
    values = {name.replace("-", "_"): value for name, value in data.items()}
    return Layer(where, with_models_split(values), path, text)


def environment_layer(env: Mapping[str, str], warnings: list[str]) -> Layer:
    """The settings among the variables; ``warnings`` names those with our prefix that are not settings.

    Raises:
        ConfigError: a key among them, or one that must be JSON and is not.
    """
    values: dict[str, object] = {}
    for variable, text in sorted(env.items()):
        name = variable.removeprefix(PREFIX).lower()
        empty = not text.strip() and name not in ROLES
        if not variable.startswith(PREFIX) or empty or name in OTHER_VARIABLES:
            continue
        if name in Settings.model_fields:
            values[name] = _from_text(name, text.strip())
        elif names_key(name):
            raise ConfigError(f"{variable}: {NO_KEYS}")
        else:
            suggestion = did_you_mean(name.upper(), map(str.upper, Settings.model_fields), before=PREFIX)
            unknown = stored("{name} is not a setting", name=variable)
            warnings.append(
                stored("{name} is not a setting; {part}", name=variable, part=suggestion) if suggestion else unknown
            )
    return Layer("environment", values)


def _from_text(name: str, text: str) -> object:
    """A variable's text as a setting; tables and lists of tables are written as JSON."""
    try:
        return json.loads(text) if name in ("prices", "instructions", "scenarios", NAMED) else text
    except (ValueError, RecursionError):
        raise ConfigError(f"{PREFIX}{name.upper()} must be JSON") from None


def setting_error(layer: Layer, name: str, message: str) -> ConfigError:
    """The error of a setting, named as its place names it: with file and line, as a variable, an argument or a flag."""
    if layer.path is not None:
        name = "models" if name == NAMED else name
        return ConfigError(f"{name}: {message}", path=layer.path, line=line_of(name, layer.text))
    return ConfigError(f"{_called(layer, name)}: {message}")


def _called(layer: Layer, name: str) -> str:
    if layer.path is not None or layer.where == "default":
        return name
    named = {"environment": f"{PREFIX}{name.upper()}", ARGUMENT: f"the argument {name!r}"}
    return named.get(layer.where, flag_of(name))


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
    return with_hint("there is no such setting", did_you_mean(name, Settings.model_fields))


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
