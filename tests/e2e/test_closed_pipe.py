"""Whoever reads may stop reading, as ``head`` does: no traceback, and not the code of a failed gate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, environment
from tests.fork_server.start import forking

MAKE = ["run", "benchmarks/speech-tag/prompt.md", "--models", "fake/NN", "--judge", "none"]
HELP = ["--help"]


@pytest.mark.parametrize("arguments", [MAKE, HELP, ["validate", "benchmarks/speech-tag/prompt.md", "--json"]])
def test_a_closed_pipe_has_a_code_of_its_own(tmp_path: Path, arguments: list[str]) -> None:
    own = ["--results", str(tmp_path / "results"), "--store", str(tmp_path / "s.db")] if arguments is MAKE else []
    with forking(arguments is not HELP):
        process = subprocess.Popen(
            [sys.executable, "-m", "promptpex", *arguments, *own],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read().decode()
    assert process.wait(300) == 141
    assert "Traceback" not in err
    assert "Exception" not in err
