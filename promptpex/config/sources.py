"""The places that settings come from, each read into a layer: the user's file, the project's file, the environment."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from promptpex.codecs.files.find_settings_files import PROJECT, find_file, not_obeyed, user_file
from promptpex.codecs.files.text_file import read_text
from promptpex.codecs.text.wording import did_you_mean
from promptpex.config.named_models import NAMED, with_models_split
from promptpex.config.settings import Settings
from promptpex.config.wording import NO_KEYS, flag_of, line_of
from promptpex.core.errors import ConfigError
from promptpex.core.translation import stored
from promptpex.llm.redaction import names_key

PREFIX = "PROMPTPEX_"
SWITCHES = ("no_config", "trust_settings")
"""Switches about settings files themselves, so that only flags and the environment can set them."""

OTHER_VARIABLES = frozenset({"config", "debug", "api_key", *SWITCHES})
"""Variables with our prefix that are not settings: the file, tracebacks, the key of the user's own server."""

ARGUMENT = "argument"
GIVEN = ("flag", ARGUMENT)
"""Origins of what was given to this very command, or to a function of the library."""

RENAMED = {"until_decided": "drop_worse"}
"""Settings by their earlier names, which still work."""

GONE = {
    "decision_threshold": "there is no such setting any more; `promptpex gate --max-non-compliance SHARE` takes a limit"
}
"""Settings of earlier versions that no other does the work of, and what to do instead."""

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
        if name in Settings.model_fields or name in RENAMED or name in GONE:
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


def with_new_names(layer: Layer, warnings: list[str]) -> Layer:
    """The layer with settings that have an earlier name under their own; ``warnings`` then says so."""
    values = dict(layer.values)
    for old, new in RENAMED.items():
        if old in values:
            warnings.append(stored("{old} is called {new} now", old=_called(layer, old), new=_called(layer, new)))
            values.setdefault(new, values.pop(old))
            values.pop(old, None)
    return layer._replace(values=values)


def setting_error(layer: Layer, name: str, message: str) -> ConfigError:
    """The error of a setting, named as its place names it: with file and line, as a variable, an argument or a flag."""
    if layer.path is not None:
        name = "models" if name == NAMED else name
        return ConfigError(f"{name}: {message}", path=layer.path, line=line_of(name, layer.text))
    return ConfigError(f"{_called(layer, name)}: {message}")


def _called(layer: Layer, name: str) -> str:
    """A setting as its place names it."""
    if layer.path is not None or layer.where == "default":
        return name
    named = {"environment": f"{PREFIX}{name.upper()}", ARGUMENT: f"the argument {name!r}"}
    return named.get(layer.where, flag_of(name))
