"""Which paths fit a pattern such as ``prompts/**/*.md``, in time that no link of a checkout can stretch.

The standard library's ``glob`` follows links under ``**``: two links to their own folder are 2^40 paths to it.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from promptpex.promptfile.searched_folders import entered

ANY_DEPTH = "**"


def is_pattern(named: Path) -> bool:
    """Whether a path stands for others by ``*``, ``?`` or ``[``; a file of that very name stands for itself."""
    return not os.path.lexists(named) and glob.has_magic(str(named))


def paths_that_fit(pattern: Path) -> list[Path]:
    """The paths that fit, sorted; of several ways to a folder, by links, one.

    Args:
        pattern: ``**`` stands for the folders that ``entered`` finds, and at the end also for the files in them; the
            other signs for names as in a shell, hidden ones where the pattern has their dot.

    Raises:
        PromptFileError: too many folders lie below one that ``**`` stands for.
    """
    places = [Path(pattern.anchor)]
    for part in pattern.parts[1:] if pattern.anchor else pattern.parts:
        places = _each_once(path for place in places for path in _that_fit(place, part))
    return sorted(places)


def _that_fit(place: Path, part: str) -> Iterator[Path]:
    if part == ANY_DEPTH:
        for folder, files in entered(place):
            yield folder
            yield from (folder / name for name in files if not name.startswith("."))
    elif glob.has_magic(part):
        names = (name for name in _names(place) if part.startswith(".") or not name.startswith("."))
        yield from (place / name for name in fnmatch.filter(names, part))
    elif os.path.lexists(place / part):
        yield place / part


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _each_once(paths: Iterable[Path]) -> list[Path]:
    """A folder once, by the first of the ways to it; files as they are."""
    chosen: dict[str, Path] = {}
    for path in sorted(paths):
        chosen.setdefault(os.path.realpath(path) if os.path.isdir(path) else str(path), path)
    return list(chosen.values())
