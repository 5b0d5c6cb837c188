"""Where paths in settings lead: relative to the settings file or the project, not to the working folder.

So the same prompt has one store and one folder of results, wherever a command is called from. A settings file can come
with a stranger's checkout: what it names stays inside its project. Flags and variables of the environment are the
user's own; they are taken as they stand.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from pathlib import Path

from promptpex.codecs.files.ordinary_files import ROOTS, is_inside
from promptpex.config.named_models import NAMED
from promptpex.core.store_address import is_address
from promptpex.llm.named_models import split_name
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
    """The models that a setting names, without names of the user's own."""
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


__all__ = ["anchor", "anchored", "refuse_reaching_out", "with_model_files"]
