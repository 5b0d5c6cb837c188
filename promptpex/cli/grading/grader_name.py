"""Who grades, where nobody says it."""

from __future__ import annotations

import getpass
from pathlib import Path

from promptpex.core.errors import ConfigError, SynthesisError
from promptpex.core.records import LONGEST_NAME


def grader_name(given: str | None, folder: Path) -> str:
    """The name that is given, else git's user in this folder, else the name of the account.

    Raises:
        ConfigError: the name is empty or too long, or there is none.
    """
    if given is None:
        name = _of_git(folder) or _of_account()
        if not name:
            raise ConfigError("it is not known who grades; say it with --as NAME")
        return name[:LONGEST_NAME]
    name = " ".join(given.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise ConfigError(f"--as takes a name of 1 to {LONGEST_NAME} characters")
    return name


def _of_git(folder: Path) -> str:
    from promptpex.synthesis.history.git_program import git

    try:
        answer = git(folder, "config", "--get", "user.name", limit=10_000, seconds=5.0)
    except SynthesisError:
        return ""
    return " ".join(answer.line.split()) if answer.code == 0 else ""


def _of_account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
