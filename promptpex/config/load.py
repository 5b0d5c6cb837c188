"""The settings in force: all layers over each other, each setting with its origin.

Paths lead from the settings file or the project, not from the working folder: the same prompt has one store and one
folder of results, wherever a command is called from. A settings file can come with a stranger's checkout: what it names
stays inside its project. Flags and variables of the environment are the user's own; they are taken as they stand.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Literal

from promptpex.codecs.files.ordinary_files import ROOTS, is_inside
from promptpex.config.env_file import EnvFile, find_env_file, read_env_file
from promptpex.config.setting_types import EFFORT, apply_preset, checked_effort
from promptpex.config.settings import Settings
from promptpex.config.sources import (
    GIVEN,
    NAMED,
    PREFIX,
    SWITCHES,
    Layer,
    environment_layer,
    problems_of,
    project_layer,
    raise_problems,
    require_one_meaning,
    setting_error,
    switched,
    user_layer,
)
from promptpex.core.errors import ConfigError
from promptpex.core.records import Record
from promptpex.core.store_address import is_address
from promptpex.llm.named_models import NamedModels, split_name
from promptpex.llm.resolve_model import as_in_name, file_of, from_name, written_file_of

OWN_FOLDER = ".promptpex"
PATHS = ("results", "store", "record", "embedded_model")
"""Settings that are paths."""
MODELS = ("models", "judge", "author", "expected")
"""Settings that name models, of which ``replay/FILE`` and ``embedded/FILE`` are files."""

Refuse = Callable[[str, str], Exception]
"""Makes the error of a setting, given its name and what is wrong with it."""


def anchored(
    values: Mapping[str, object], defaults: Mapping[str, str], *, top: Path, cwd: Path, refuse: Refuse
) -> dict[str, str]:
    """The paths at their places, as seen from the working folder.

    Args:
        values: what a settings file says.
        defaults: paths that nothing sets; they too may be links in the checkout.
        top: the folder that paths are relative to, and must not lead out of.
        refuse: makes the error.

    Raises:
        Exception: what ``refuse`` makes, for a path that leads out of ``top``, or into what git keeps there.
    """
    for name in (*MODELS, NAMED):
        for label in _labels(values.get(name)):
            file = file_of(label)
            if file is not None and not (is_inside(cwd / file, top) and not file.startswith("~")):
                raise refuse(name, f"the file of {label!r} is outside the project; name it with a flag")
    paths = {}
    for name, path in {**defaults, **{name: values[name] for name in PATHS if name in values}}.items():
        if not isinstance(path, str | Path) or (name == "store" and is_address(str(path))):
            continue
        if "\0" in str(path) or not is_inside(top / path, top) or ".git" in _parts(top / path, top):
            raise refuse(name, f"{path} leads out of the project {top}; if you want that, {_instead(name)}")
        paths[name] = _seen_from(cwd, top.resolve() / path, top)
    return paths


def with_model_files(values: Mapping[str, object], *, folder: Path, cwd: Path) -> dict[str, object]:
    """The settings of a file in ``folder``; files of models (``replay/FILE``) as seen from the working folder."""
    if folder.resolve() == cwd.resolve():
        return dict(values)
    placed = {name: _seen_models(values[name], folder, cwd) for name in MODELS if name in values}
    named = values.get(NAMED)
    if isinstance(named, Mapping):
        placed[NAMED] = {
            name: {**entry, "model": _seen_models(entry["model"], folder, cwd)} if "model" in entry else entry
            for name, entry in named.items()
        }
    return {**values, **placed}


def _seen_models(value: object, folder: Path, cwd: Path) -> object:
    """The same with each file's path as seen from the working folder; a file of a path from the root stays."""
    if isinstance(value, list | tuple):
        return [_seen_models(part, folder, cwd) for part in value]
    return ",".join(_seen_model(label, folder, cwd) for label in value.split(",")) if isinstance(value, str) else value


def _seen_model(label: str, folder: Path, cwd: Path) -> str:
    written = written_file_of(split_name(label)[1])
    file = from_name(written or "")
    if written is None or file.startswith("~") or "\0" in file or Path(file).is_absolute():
        return label
    seen_path = as_in_name(_seen_from(cwd, folder.resolve() / file, folder))
    head, _, tail = label.partition(f"/{written}")
    return f"{head}/{seen_path}{tail}"


def refuse_reaching_out(values: Mapping[str, object], refuse: Refuse) -> None:
    """Refuses what would be fetched, started, or sent to a cluster, only by a settings file of the project.

    Raises:
        Exception: what ``refuse`` makes.
    """
    if_meant = "if you want that, say so with a flag, or allow it with --trust-settings"
    for name in (*MODELS, NAMED):
        for label in _labels(values.get(name)):
            if label.startswith("embedded/hf:"):
                raise refuse(name, f"the weights of {label!r} would be downloaded; {if_meant}")
    if values.get("pull"):
        raise refuse("pull", f"missing models would be downloaded; {if_meant}")
    if values.get("address"):
        raise refuse("address", f"prompts and outputs would be sent to that cluster; {if_meant}")
    for name, default in (("workers", None), ("engine", "local")):
        if values.get(name) not in (None, default):
            raise refuse(name, f"processes would be started; {if_meant}")
    if is_address(str(values.get("store", ""))):
        raise refuse(
            "store",
            "your password and your prompts would go to a server that only a settings file of the project names; name "
            "it with --store, PROMPTPEX_STORE or your own settings, or allow it with --trust-settings",
        )


def anchor(start: Path, cwd: Path) -> Path:
    """The folder of a prompt's project, where no settings file marks it.

    The nearest one from ``start`` upward, below the home folder and the root of the file system, that git keeps, that
    is known by its pyproject, or that has the user's own ``.promptpex``; else the working folder, if ``start`` is in it
    and it is neither of those two, else ``start``.
    """
    folder, working_folder = start.resolve(), cwd.resolve()
    tops = _tops(folder)
    below = takewhile(lambda place: place not in tops, (folder, *folder.parents))
    places = [place for place in below if not _is_shared(place)]
    for is_marked in (_has(".git"), _has(*ROOTS), _is_own):
        marked = next(filter(is_marked, places), None)
        if marked is not None:
            return marked
    return working_folder if folder.is_relative_to(working_folder) and working_folder not in tops else folder


def _tops(folder: Path) -> set[Path]:
    """The home folder and the root of the file system: too much lies below them to be one project."""
    tops = {Path(folder.anchor)}
    with contextlib.suppress(OSError, RuntimeError):
        tops.add(Path.home().resolve())
    return tops


def _is_shared(place: Path) -> bool:
    """Whether all users of the machine may write here, as in /tmp: what lies there does not mark a project."""
    try:
        return os.name == "posix" and bool(place.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _has(*names: str) -> Callable[[Path], bool]:
    return lambda place: any((place / name).exists() for name in names)


def _is_own(place: Path) -> bool:
    """Whether the user has our folder here; another user's, as in a folder that all may write to, does not count."""
    try:
        owner = (place / OWN_FOLDER).lstat().st_uid
    except OSError:
        return False
    return owner == getattr(os, "getuid", lambda: owner)()


def _labels(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        return [str(entry["model"]).strip() for entry in value.values() if "model" in entry]
    parts = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [split_name(label)[1] for part in parts if isinstance(part, str) for label in part.split(",")]


def _parts(path: Path, top: Path) -> list[str]:
    return [part.lower() for part in path.resolve().relative_to(top.resolve()).parts]


def _instead(name: str) -> str:
    flag = {"results": "--results DIR", "store": "--store STORE", "record": "--record FILE"}.get(name)
    variable = f"PROMPTPEX_{name.upper()}"
    return f"give it with {flag} or {variable}" if flag else f"give it with {variable}"


def _seen_from(cwd: Path, path: Path, top: Path) -> str:
    """The path as it is shown: relative to the working folder where that is in the project or above it."""
    whole, working_folder = Path(os.path.abspath(path)), cwd.resolve()
    if whole.is_relative_to(working_folder) or working_folder.is_relative_to(top.resolve()):
        return os.path.relpath(whole, working_folder)
    return str(whole)


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
        return self.origins[name] in GIVEN

    def names_by_user(self, name: str) -> bool:
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
    layers = (*files, environment_layer(env, warnings), Layer(given_as, given_flags))
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
