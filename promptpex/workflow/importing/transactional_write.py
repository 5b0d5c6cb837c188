"""Files that are written together: all of them or, where anything fails, none; and none that could not be read back."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.core.records import Suite
from promptpex.documents.libyaml_nodes import MAX_DEPTH
from promptpex.documents.yaml_reader import MAX_BYTES, MAX_NODES

_YAML = (".yaml", ".yml")
DEEPEST = MAX_DEPTH - 10
"""Levels of a case, or of front matter; files of ours have some around it."""


@contextmanager
def all_or_nothing(places: Iterable[Path], folder: Path, *, replace: bool) -> Iterator[None]:
    """Runs a block that writes these files and folders into ``folder``; where it fails they are as they were before.

    Args:
        replace: whether those that are there are replaced; a link is put aside, never followed.

    Raises:
        InputError: one is there and is not to be replaced.
        OSError: what is there cannot be put aside.
    """
    places = list(places)
    existing = [path for path in places if path.exists() or path.is_symlink()]
    if existing and not replace:
        raise InputError(
            "is there already; name another folder with --out, or replace it with --force", path=existing[0]
        )
    first_new_folder = _first_missing(folder)
    with _put_aside(existing, folder):
        try:
            yield
        except BaseException:
            for path in places if first_new_folder is None else [first_new_folder]:
                _remove(path)
            raise


@contextmanager
def _put_aside(there: list[Path], folder: Path) -> Iterator[None]:
    """Keeps what is there in a folder beside it, and brings it back where the block fails."""
    if not there:
        yield
        return
    aside = Path(tempfile.mkdtemp(prefix=".replaced-", dir=folder))
    moved: list[tuple[Path, Path]] = []
    try:
        for number, path in enumerate(there):
            os.replace(path, aside / str(number))
            moved.append((aside / str(number), path))
        yield
    except BaseException:
        for backup, path in moved:
            os.replace(backup, path)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _first_missing(folder: Path) -> Path | None:
    """The outermost folder that has to be made; None where all are there."""
    missing = [place for place in (folder, *folder.parents) if not (place.exists() or place.is_symlink())]
    return missing[-1] if missing else None


def nests_deeper(value: object, levels: int) -> bool:
    """Whether lists and mappings stand in each other more than so many levels deep."""
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list | tuple) else ())
            if isinstance(inner, dict | list | tuple)
        ]
        if not level:
            return False
    return True


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def require_readable_size(suite: Suite, path: Path) -> None:
    """Refuses more cases than a file of this name can hold, which the next command could not read.

    Raises:
        InputError: with another kind of file that can.
    """
    if path.suffix.lower() not in _YAML:
        return
    values, characters = 2 * len(suite.cases), 60 * len(suite.cases)  # keys that a file says of every case
    waiting: list[object] = []
    for case in suite.cases:
        if nests_deeper(case.to_dict(), DEEPEST):
            raise InputError(f"the case {case.id!r} nests more than {DEEPEST} deep; write it as a text", path=path)
        waiting.append(case.to_dict())
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, dict):
            waiting += value.values()
            characters += sum(map(len, value))
        elif isinstance(value, list | tuple):
            waiting += value
        characters += len(value) if isinstance(value, str) else 1
    if values >= MAX_NODES or characters > MAX_BYTES:
        raise InputError(
            f"{len(suite.cases):,} cases of this length are too many for a YAML case file; write only the cases, as "
            "JSON lines: --cases-only --out cases.jsonl",
            path=path,
        )
