"""The command line as a person uses it, its output and its exit code: in a process of its own, or in this one."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from tests.fork_server.start import forking

ROOT = Path(__file__).resolve().parents[2]
_TURN = threading.Lock()
"""Whoever runs a command in this process, which has one working folder and one ``sys.stdout``."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """This process's environment without anybody's keys, one thread for the embedded model."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_API_BASE"))}
    kept.pop("PYTHONUNBUFFERED", None)  # people do not have it either
    return {**kept, "PROMPTPEX_EMBEDDED_THREADS": "1", "PYTHONUTF8": "1", "COLUMNS": "100", **more}


def promptpex(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, forked: bool = True) -> Done:
    """Runs ``promptpex`` in a process of its own and waits for it."""
    with forking(forked):
        done = subprocess.run(
            [sys.executable, "-m", "promptpex", *arguments],
            cwd=cwd,
            env=environment(**(env or {})),
            capture_output=True,
            encoding="utf-8",
            timeout=500,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    return Done(done.returncode, done.stdout, done.stderr)


def in_process(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Done:
    """As ``promptpex``, without the start of a process: for what does not depend on it. Only one runs at a time."""
    out, err = io.StringIO(), io.StringIO()
    assert _TURN.acquire(blocking=False), "another command is running in this process"
    try:
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd):
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run_cli(list(arguments))
    finally:
        _TURN.release()
    return Done(code, out.getvalue(), err.getvalue())


def benchmark(name: str, folder: Path, *, cases: int) -> Path:
    """A copy of a benchmark with its first ``cases`` cases; the prompt's path."""
    shutil.copytree(ROOT / "benchmarks" / name, folder / name)
    suite = folder / name / "prompt.cases.yaml"
    head, *items = re.split(r"^(?=  - id: )", suite.read_text(encoding="utf-8"), flags=re.MULTILINE)
    suite.write_text("".join([head, *items[:cases]]), encoding="utf-8")
    return folder / name / "prompt.md"
