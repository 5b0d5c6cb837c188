"""The prompts that files, patterns and folders stand for: each once, in the order of their paths."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from promptpex.core.errors import PromptFileError
from promptpex.promptfile.discovery import is_prompt

NOT_ENTERED = frozenset({"node_modules", "results", "site-packages", "venv", "__pycache__"})
"""Folders of other things, as far as their names tell; hidden folders are not entered either."""

NOT_ENTERED_ENDING = ".synthesis"
MOST_FOLDERS = 2_000
"""Folders that are looked into below one that was named: far more than a project of prompts has."""

ENVIRONMENT = "pyvenv.cfg"
"""What a virtual environment is known by (PEP 405)."""


def find_prompts(named: Iterable[Path | str]) -> list[Path]:
    """The prompts that are meant, sorted by their paths.

    Args:
        named: files, which are taken as they are; folders, in which ``is_prompt`` says what counts, links to folders
            are not followed and hidden folders, virtual environments, ``NOT_ENTERED`` and those of syntheses are left
            out; patterns such as ``prompts/**/*.md``.

    Raises:
        PromptFileError: a folder or a pattern that stands for no prompt.
    """
    chosen: dict[Path, Path] = {}
    for one in map(Path, named):
        for path in _meant_by(one):
            chosen.setdefault(path.parent.resolve() / path.name, path)
    return sorted(chosen.values(), key=lambda path: path.parts)


def common_folder(prompts: Sequence[Path]) -> Path:
    """The folder that has all of these prompts, from which their settings are looked for upwards."""
    return Path(os.path.commonpath([prompt.parent.resolve() for prompt in prompts]))


def is_pattern(named: Path) -> bool:
    """Whether a path stands for others by ``*``, ``?`` or ``[``; a file of that very name stands for itself."""
    return not os.path.lexists(named) and glob.has_magic(str(named))


def _meant_by(named: Path) -> list[Path]:
    if named.is_dir():
        return _in_folder(named)
    if not is_pattern(named):
        return [named]
    matches = [Path(match) for match in sorted(glob.glob(str(named), recursive=True))]
    folders = [prompt for match in matches if match.is_dir() and not _is_left_out(match) for prompt in _walk(match)]
    prompts = [match for match in matches if match.is_file() and is_prompt(match, named=True)]
    if not prompts and not folders:
        raise PromptFileError("no prompt fits this pattern", path=named)
    return [*prompts, *folders]


def _in_folder(folder: Path) -> list[Path]:
    prompts = list(_walk(folder))
    if not prompts:
        message = "no prompt in this folder: a prompt is a file named prompt.*, or one with a spec or cases beside it"
        raise PromptFileError(message, path=folder)
    return prompts


def _walk(folder: Path) -> Iterator[Path]:
    for number, (place, folders, files) in enumerate(os.walk(folder)):
        if number >= MOST_FOLDERS:
            message = f"this folder has more than {MOST_FOLDERS:,} others in it; name the one that has the prompts"
            raise PromptFileError(message, path=folder)
        here = Path(place)
        folders[:] = sorted(name for name in folders if not _is_left_out(here / name))
        yield from (here / name for name in sorted(files) if not name.startswith(".") and is_prompt(here / name))


def _is_left_out(folder: Path) -> bool:
    name = folder.name
    by_name = name.startswith(".") or name in NOT_ENTERED or name.endswith(NOT_ENTERED_ENDING)
    return by_name or os.path.lexists(folder / ENVIRONMENT)
