"""Where settings files are, and which of them are obeyed."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from promptpex.codecs.files.ordinary_files import is_inside, read_bytes
from promptpex.core.errors import ConfigError
from promptpex.core.translation import stored

FILE = "promptpex.toml"
PROJECT = "pyproject.toml"


def find_file(start: Path) -> Path | None:
    """The settings file in this folder or the nearest above it, up to the root of the repository or of the disk."""
    folder = start.resolve()
    for place in (folder, *folder.parents):
        if (place / FILE).is_file():
            return place / FILE
        if _has_section(place / PROJECT):
            return place / PROJECT
        if (place / ".git").exists():
            return None
    return None


def user_file() -> Path:
    import platformdirs

    return Path(platformdirs.user_config_dir("promptpex", appauthor=False)) / "settings.toml"


def not_obeyed(path: Path, start: Path) -> str | None:
    """Why a settings file that was found above ``start`` is left alone; None where it is obeyed.

    It must belong to the user, to root or to whom the folder belongs where the work is; and for work below the home
    folder it must not lie above that.
    """
    try:
        home = Path.home().resolve()
    except RuntimeError:
        home = None
    if home is not None and home in (start.resolve(), *start.resolve().parents) and path.parent in home.parents:
        return stored("it is above your home folder")
    if not hasattr(os, "geteuid"):
        return None
    owner = path.stat().st_uid
    return None if owner in (os.geteuid(), 0, start.resolve().stat().st_uid) else stored("it belongs to another user")


def results_of(file: Path, default: str) -> Path:
    """Where a ``promptpex.toml`` keeps its runs; by ``default`` where it does not say, or says what is not obeyed."""
    try:
        named = tomllib.loads(read_bytes(file, error=ConfigError, what="settings file").decode()).get("results")
    except (ConfigError, ValueError, RecursionError):
        named = None
    folder = file.parent / (named if isinstance(named, str) else default)
    return folder if is_inside(folder, file.parent) else file.parent / default


def _has_section(path: Path) -> bool:
    try:
        return path.is_file() and re.search(r"(?m)^\s*\[tool\.promptpex\b", path.read_text("utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False
