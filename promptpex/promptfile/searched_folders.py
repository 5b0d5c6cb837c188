"""The folders in which prompts are looked for, below one that was named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from promptpex.core.errors import PromptFileError

NOT_ENTERED = frozenset({"node_modules", "results", "site-packages", "venv", "__pycache__"})
"""Folders of other things, as far as their names tell; hidden folders are not entered either."""

NOT_ENTERED_ENDING = ".synthesis"
MOST_FOLDERS = 2_000
"""Folders that are looked into below one that was named: far more than a project of prompts has."""

ENVIRONMENT = "pyvenv.cfg"
"""What a virtual environment is known by (PEP 405)."""


def entered(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each folder with the sorted names of the files in it; links to folders are not followed.

    Raises:
        PromptFileError: there are more than ``MOST_FOLDERS``.
    """
    for number, (place, folders, files) in enumerate(os.walk(folder)):
        if number >= MOST_FOLDERS:
            message = f"this folder has more than {MOST_FOLDERS:,} others in it; name the one that has the prompts"
            raise PromptFileError(message, path=folder)
        place_path = Path(place)
        folders[:] = sorted(name for name in folders if not is_left_out(place_path / name))
        yield place_path, sorted(files)


def is_left_out(folder: Path) -> bool:
    """Whether prompts are not looked for in a folder that was not named itself."""
    name = folder.name
    by_name = name.startswith(".") or name in NOT_ENTERED or name.endswith(NOT_ENTERED_ENDING)
    return by_name or os.path.lexists(folder / ENVIRONMENT)
