"""inspect_ai as a program: installed at a pinned version in an environment of its own, and run on tasks."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSPECT = "0.3.285"
OPENAI = "openai>=3.4"
"""What it asks servers by; newer than litellm wants, which no task uses."""
FOLDER = "PROMPTPEX_INSPECT"
"""The variable that names the environment in which inspect_ai is installed."""
_SECONDS = 900


def default_folder() -> Path:
    """Where inspect_ai is installed unless the environment says otherwise."""
    return Path(os.environ.get(FOLDER) or Path.home() / ".cache" / "promptpex" / f"inspect-{INSPECT}")


@dataclass(frozen=True)
class Inspect:
    """An installation of inspect_ai in an environment of its own."""

    folder: Path

    @property
    def _scripts(self) -> Path:
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    @property
    def program(self) -> Path:
        """Its command."""
        return self._scripts / ("inspect.exe" if sys.platform == "win32" else "inspect")

    @property
    def is_there(self) -> bool:
        """Whether it is installed."""
        return self.program.is_file()

    def install(self) -> None:
        """Installs it by pip, and promptpex beside it; a second time does nothing.

        Raises:
            RuntimeError: pip failed; with the end of what it printed.
        """
        if self.is_there:
            return
        venv.create(self.folder, with_pip=True)
        pip = (self._scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        for packages in (("-e", ROOT), (f"inspect_ai=={INSPECT}", OPENAI)):
            done = subprocess.run([*pip, *packages], capture_output=True, text=True, check=False, timeout=1_800)
            if done.returncode:
                raise RuntimeError(f"pip could not install inspect_ai: {(done.stderr or done.stdout)[-600:]}")

    def run(self, tasks: Sequence[Path], models: Sequence[str], url: str, logs: Path, *, kind: str = "eval") -> None:
        """Runs tasks on models of one server; the logs go into a folder.

        Args:
            kind: of the logs: ``eval`` or ``json``.

        Raises:
            RuntimeError: it failed; with the end of what it printed.
        """
        named = ",".join(f"openai-api/local/{model}" for model in models)
        flags = ("--display", "plain", "--log-dir", logs, "--log-format", kind, "--max-retries", "2")
        done = subprocess.run(
            [self.program, "eval", *(task.name for task in tasks), "--model", named, *flags],
            cwd=tasks[0].parent,
            env={
                "PATH": os.environ.get("PATH", ""),
                "HOME": str(self.folder),
                "PYTHONPATH": str(ROOT),
                "LOCAL_BASE_URL": url,
                "LOCAL_API_KEY": "none",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        if done.returncode:
            raise RuntimeError(f"inspect eval ended with {done.returncode}: {(done.stdout + done.stderr)[-2_000:]}")
