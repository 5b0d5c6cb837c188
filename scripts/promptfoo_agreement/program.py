"""promptfoo as a program: installed at pinned versions, with a Node.js of its own, and run on a configuration."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROMPTFOO = "0.123.1"
NODE = "22.23.3"
"""promptfoo needs 22.22 or later, which few systems have."""
LIBSQL = "0.5.29"
"""The binding of the database that promptfoo keeps; npm would look for it among the optional packages of promptfoo,
which are hundreds of megabytes."""
FOLDER = "PROMPTPEX_PROMPTFOO"
"""The variable that names the folder in which promptfoo is installed."""
SQL_PARSER = "5.4.0"
"""What ``is-sql`` hangs on there, from the same packages."""
_SECONDS = 300
_OFF = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION", "SHARING", "ADAPTIVE_SCHEDULER")


def default_folder() -> Path:
    """Where promptfoo is installed unless the environment says otherwise."""
    return Path(os.environ.get(FOLDER) or Path.home() / ".cache" / "promptpex" / f"promptfoo-{PROMPTFOO}")


@dataclass(frozen=True)
class Promptfoo:
    """An installation of promptfoo in a folder."""

    folder: Path

    @property
    def node(self) -> Path:
        """Its Node.js."""
        return self.folder / "node_modules" / _node_package() / "bin" / "node"

    @property
    def program(self) -> Path:
        """Its script."""
        return self.folder / "node_modules" / "promptfoo" / "dist" / "src" / "main.js"

    @property
    def is_there(self) -> bool:
        """Whether it is installed."""
        return self.node.is_file() and self.program.is_file()

    def install(self) -> None:
        """Installs it by npm, at the pinned versions; a second time does nothing.

        Raises:
            RuntimeError: there is no npm, or it failed; with the end of what it printed.
        """
        if self.is_there:
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError("there is no npm; install Node.js, of any version")
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = {"promptfoo": PROMPTFOO, "node-sql-parser": SQL_PARSER, _node_package(): NODE, **_binding()}
        package = {"name": "promptfoo-agreement", "private": True, "dependencies": wanted}
        (self.folder / "package.json").write_text(json.dumps(package, indent=1), encoding="utf-8")
        flags = ("--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--force", "--loglevel=error")
        done = subprocess.run(
            [npm, "install", *flags], cwd=self.folder, capture_output=True, text=True, check=False, timeout=1_200
        )
        if done.returncode or not self.is_there:
            raise RuntimeError(f"npm could not install promptfoo: {(done.stderr or done.stdout)[-600:]}")

    def run(self, config: Path, *, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What its ``eval`` writes of a configuration: the file of results, as data.

        Raises:
            RuntimeError: it ended without results; with the end of what it printed.
        """
        out = config.with_name(f"{config.stem}.results.json")
        out.unlink(missing_ok=True)
        flags = ("--no-cache", "--no-write", "--no-table", "--no-progress-bar", "--max-concurrency", "4")
        done = subprocess.run(
            [self.node, self.program, "eval", "-c", config.name, "-o", out.name, *flags],
            cwd=config.parent,
            env=self._environment(environment or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        if not out.is_file():
            raise RuntimeError(f"promptfoo wrote no results of {config.name}: {(done.stdout + done.stderr)[-2_000:]}")
        results: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return results

    def _environment(self, further: Mapping[str, str]) -> dict[str, str]:
        """Nothing of the user's but the path; its own files beside the installation, and nothing sent anywhere."""
        own = {f"PROMPTFOO_DISABLE_{name}": "1" for name in _OFF}
        own |= {"PROMPTFOO_CONFIG_DIR": str(self.folder / "home"), "NO_COLOR": "1", "HOME": str(self.folder)}
        return {"PATH": os.environ.get("PATH", ""), **own, "OPENAI_API_KEY": "none", **further}


def _node_package() -> str:
    """The package of npm that holds Node.js for this machine."""
    system = {"Darwin": "darwin", "Windows": "win"}.get(platform.system(), "linux")
    arm = platform.machine().lower() in ("arm64", "aarch64")
    return f"{'node-bin' if system == 'darwin' and arm else 'node'}-{system}-{'arm64' if arm else 'x64'}"


def _binding() -> dict[str, str]:
    system = {"Darwin": "darwin", "Windows": "win32"}.get(platform.system(), "linux")
    arch = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x64"
    ending = {"linux": "-gnu", "win32": "-msvc"}.get(system, "")
    return {f"@libsql/{system}-{arch}{ending}": LIBSQL}
