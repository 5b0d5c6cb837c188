"""A small share of ``scripts/fuzz.py``, and that it sees what it is there to see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from fuzzing import foreign_files, watch  # noqa: E402

from tests.e2e.command import environment  # noqa: E402
from tests.fork_server.start import forking  # noqa: E402

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits are kept by signals")


SCRIPT = f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r}); import fuzz; sys.exit(fuzz.main())"


def fuzzed(*arguments: str, forked: bool = True) -> tuple[int, dict[str, Any], str]:
    """Runs the script; its exit code, its tally, and what it found."""
    with forking(forked):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, "--json", *arguments],
            env=environment(PYTHONPATH=str(ROOT)),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(("arguments", "forked"), [(("--inputs", "150"), False), (("--commands", "5"), True)])
def test_no_traceback_no_hang_and_no_error_of_promptpex_itself(arguments: tuple[str, str], forked: bool) -> None:
    code, tally, stderr = fuzzed(*arguments, forked=forked)
    assert code == 0, stderr[-4000:]
    assert sum(tally["tried"].values()) == int(arguments[1])
    assert not any(tally["findings"].values())


def test_what_lies_outside_the_folder_of_an_import_is_watched(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in" / "a.txt", tmp_path / "b.txt"
    inside.parent.mkdir()
    inside.write_text("a")
    outside.write_text("b")
    (inside.parent / "link").symlink_to(outside)
    with foreign_files.only_inside(inside.parent):
        assert inside.read_text() == "a"
        for path in (outside, inside.parent / "link"):
            with pytest.raises(RuntimeError, match="outside the folder"):
                path.read_text()
    assert outside.read_text() == "b"


def endless() -> None:
    while True:
        time.sleep(0.01)


def test_the_watch_counts_errors_and_hangs_and_lets_named_errors_pass(capsys: pytest.CaptureFixture[str]) -> None:
    tally = watch.Tally()

    def hang() -> None:
        with watch.limited(cpu_s=5, wall_s=0.05):
            endless()

    def named() -> None:
        raise LookupError

    def broken() -> None:
        raise TypeError

    for work in (hang, named, broken):
        watch.watched(tally, "one", "kind", work, (LookupError,))
    assert tally.findings == {"hangs": 1, "tracebacks": 1}
    assert (tally.tried["kind"], tally.refused["kind"]) == (3, 1)
    assert "TypeError" in capsys.readouterr().err
