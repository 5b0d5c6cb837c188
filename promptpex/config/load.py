"""The settings in force: all layers over each other, each setting with its origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from promptpex.config.effort import EFFORT, apply_preset, checked_effort
from promptpex.config.env_file import EnvFile, find_env_file, read_env_file
from promptpex.config.named_models import NAMED, require_one_meaning
from promptpex.config.problems import problems_of, raise_problems
from promptpex.config.resolve_paths import anchor, anchored, refuse_reaching_out, with_model_files
from promptpex.config.settings import Settings
from promptpex.config.sources import (
    GIVEN,
    PREFIX,
    SWITCHES,
    Layer,
    environment_layer,
    project_layer,
    setting_error,
    switched,
    user_layer,
    with_new_names,
)
from promptpex.core.errors import ConfigError
from promptpex.core.records import Record
from promptpex.llm.named_models import NamedModels


class Resolved(Record):
    """The settings; for each, its origin: ``default``, ``preset low``, ``user file ...``, ``file ...``,
    ``environment``, ``flag`` or ``argument``.

    ``trusted``: whether the user trusts the project's file like flags. ``unattended``: whether ``CI`` is set, as build
    servers do. ``names_of_project``: named models that the project's file defines. ``env_file``: the file that gives
    keys that the environment lacks. ``searched``: whether the project's file was looked for, not named or left out.
    """

    settings: Settings
    origins: dict[str, str]
    warnings: tuple[str, ...] = ()
    file: str | None = None
    trusted: bool = False
    unattended: bool = False
    names_of_project: frozenset[str] = frozenset()
    env_file: str | None = None
    searched: bool = True

    def by_user(self, name: str) -> bool:
        """Whether the user gave this setting: by flag, environment or the user's own file, or by trusting the
        project's file."""
        return self.trusted or not self.origins[name].startswith("file")

    def given(self, name: str) -> bool:
        """Whether this very command or call gave this setting."""
        return self.origins[name] in GIVEN

    def names_by_user(self, name: str) -> bool:
        """Whether the user, or a file that the user trusts, says what this named model is."""
        return self.trusted or name not in self.names_of_project

    @cached_property
    def named_models(self) -> NamedModels:
        """The named models; a variable of a key that only the project's file names is not among what they say."""
        named = self.settings.named_models
        untrusted = self.untrusted_keys
        return {name: one.replace(key_env=None) if name in untrusted else one for name, one in named.items()}

    def keys_of_file(self) -> EnvFile:
        """The keys that the ``.env`` file gives, read now; none where it is not read."""
        if self.env_file is None:
            return EnvFile({})
        further = [one.key_env for one in self.named_models.values() if one.key_env]
        return read_env_file(Path(self.env_file), further=further)

    @property
    def untrusted_keys(self) -> tuple[str, ...]:
        """The named models whose ``key_env`` only the project's file gives."""
        named = self.settings.named_models
        return tuple(name for name, one in named.items() if one.key_env and not self.names_by_user(name))


def load(
    flags: Mapping[str, object],
    *,
    start: Path,
    env: Mapping[str, str],
    given_as: Literal["flag", "argument"] = "flag",
) -> Resolved:
    """The settings in force.

    Args:
        flags: what the command line gave, by the settings' names; None counts as not given. ``config`` names the file;
            ``no_config`` reads none, the user's neither, and no ``.env``; ``trust_settings`` lets keys go to servers
            that it names.
        given_as: what ``flags`` are to whoever gave them, which errors name them by.
        start: the folder from which upward a settings file is looked for.
        env: the environment.

    Raises:
        ConfigError: an unknown setting, a value of the wrong kind, a key among the settings, a file that cannot be
            read; with file and line, or the name of the variable or flag.
    """
    given_flags = {name: value for name, value in flags.items() if value is not None}
    alone, trusted = (switched(name, given_flags.pop(name, None), env) for name in SWITCHES)
    config = given_flags.pop("config", None) or env.get(f"{PREFIX}CONFIG")
    if alone and config:
        raise ConfigError(f"a settings file is named ({config}), but none is to be read; drop one of the two options")
    named, warnings = Path(str(config)) if config else None, list[str]()
    files = [] if alone else [user_layer(warnings), project_layer(named, start, warnings)]
    every = (*files, environment_layer(env, warnings), Layer(given_as, given_flags))
    layers = [with_new_names(layer, warnings) for layer in every]
    raise_problems([problem for layer in layers for problem in problems_of(layer)])
    values, origins = _over_each_other([_at_its_place(layer) for layer in layers])
    apply_preset(values, origins)
    project = _at_its_place(layers[len(files) - 1]) if files else Layer("file", {})
    home = _home(project, start, named=bool(named))
    values.update(_paths(project, layers[len(files) :], values, home, trusted=trusted))
    env_file = find_env_file(start, warnings) if not alone else None
    _require_sense(settings := Settings.model_validate(values), origins)
    return Resolved(
        settings=settings,
        origins=origins,
        warnings=tuple(warnings),
        file=str(project.path) if project.path is not None else None,
        trusted=trusted,
        unattended=env.get("CI", "").strip().lower() not in ("", "0", "false", "no"),
        env_file=str(env_file) if env_file is not None else None,
        searched=not alone and named is None,
        names_of_project=_names(project).difference(*map(_names, layers[len(files) :])),
    )


def _require_sense(settings: Settings, origins: Mapping[str, str]) -> None:
    """Refuses settings that contradict each other, or of which one would do nothing."""
    require_one_meaning(settings)
    if settings.address is not None and settings.engine != "ray" and origins["address"] in GIVEN:
        message = f"it is where a Ray cluster is, and the engine is {settings.engine}"
        raise setting_error(Layer(origins["address"], {}), "address", message)


def _at_its_place(layer: Layer) -> Layer:
    """A settings file's layer, whose models' files are relative to it; any other as it is."""
    if layer.path is None:
        return layer
    return layer._replace(values=with_model_files(layer.values, folder=layer.path.resolve().parent, cwd=Path.cwd()))


def _over_each_other(layers: Sequence[Layer]) -> tuple[dict[str, object], dict[str, str]]:
    """What the layers set, each over those before it, and the origin of every setting."""
    values: dict[str, object] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for layer in layers:
        values.update({**layer.values, **_with_names_before(values, layer)})
        origins.update(dict.fromkeys(layer.values, layer.where))
    return values, origins


def _names(layer: Layer) -> frozenset[str]:
    named = layer.values.get(NAMED)
    return frozenset(named) if isinstance(named, Mapping) else frozenset()


def _with_names_before(values: Mapping[str, object], layer: Layer) -> dict[str, object]:
    """The named models of this layer over those of the layers before it: a name is defined as a whole."""
    before, now = values.get(NAMED), layer.values.get(NAMED)
    return {NAMED: {**before, **now}} if isinstance(before, Mapping) and isinstance(now, Mapping) else {}


def with_effort(resolved: Resolved, effort: object, *, path: Path | str | None = None) -> Resolved:
    """The settings with the effort that a prompt's front matter asks for, where nothing else sets them.

    Raises:
        ConfigError: there is no such effort.
    """
    if effort is None or resolved.settings.effort is not None:
        return resolved
    preset = EFFORT[checked_effort(effort, path=path)]
    chosen = {name: value for name, value in preset.items() if resolved.origins[name] == "default"}
    origins = {**resolved.origins, **dict.fromkeys(chosen, f"preset {effort}"), "effort": "front matter"}
    return resolved.replace(settings=resolved.settings.replace(**chosen, effort=effort), origins=origins)


def _home(file: Layer, start: Path, *, named: bool) -> Path:
    """The folder that results and store stand in, if nothing says otherwise: that of the project's file, or the top of
    the project."""
    return anchor(start, Path.cwd()) if file.path is None or named else file.path.resolve().parent


def _paths(
    file: Layer, over: Sequence[Layer], values: Mapping[str, object], home: Path, *, trusted: bool
) -> dict[str, str]:
    """The paths that nothing sets, and those of the project's file that no flag or variable overrides; what that file
    would download, or store on a server, is refused unless it is trusted."""
    cwd = Path.cwd()
    set_here = dict(file.values)
    for layer in over:
        set_here = {name: value for name, value in set_here.items() if name not in layer.values}
    unset = {name: str(Settings.model_fields[name].default) for name in ("results", "store") if name not in values}

    def refuse(name: str, message: str) -> ConfigError:
        return setting_error(file if name in set_here else Layer("default", {}), name, message)

    if not trusted:
        refuse_reaching_out(set_here, refuse)
    defaults = anchored({}, unset, top=home, cwd=cwd, refuse=refuse)
    if file.path is None:
        return defaults
    folder = file.path.resolve().parent
    return {**defaults, **anchored(set_here, {}, top=folder, cwd=cwd, refuse=refuse)}
