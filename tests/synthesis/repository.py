"""Git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class Repository:
    """A repository in a folder, each commit a day after the one before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.day = 0
        folder.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        """What git answers here."""
        names = ("AUTHOR", "COMMITTER")
        who = {f"GIT_{name}_{part}": value for name in names for part, value in (("NAME", "a"), ("EMAIL", "a@b.c"))}
        when = {f"GIT_{name}_DATE": f"2026-03-{self.day + 1:02}T10:00:00+00:00" for name in names}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment = {**kept, **who, **when, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        """Writes a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, note: str, **files: str) -> str:
        """Commits these files (``prompt_md``: prompt.md) and all that changed; gives the commit's id."""
        for name, text in files.items():
            self.write(name.replace("_", "."), text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", note)
        self.day += 1
        return self.git("rev-parse", "HEAD").strip()[:10]
