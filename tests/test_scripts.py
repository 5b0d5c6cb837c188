"""``scripts/lib/venv.sh``: the interpreter that PYTHON names is used, or none is; and how tests are spread."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BASH = shutil.which("bash")

pytestmark = pytest.mark.skipif(BASH is None or os.name != "posix", reason="the scripts need bash")


def interpreter(path: Path, version: str) -> Path:
    """A stand-in that says it is this version, and makes environments of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    old = int(version.split(".")[1]) < 11
    path.write_text(
        f'#!/bin/sh\ncase "$*" in *sys.exit*) exit {int(old)} ;; *sys.executable*) echo "$0" ;;\n'
        f'*venv*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;; *) echo {version} ;; esac\n'
    )
    path.chmod(0o755)
    return path


def made(folder: Path, named: Path | str | None) -> subprocess.CompletedProcess[str]:
    """``make_venv`` in a clone at ``folder``, in which ``python3`` is 3.12."""
    shutil.copytree(ROOT / "scripts" / "lib", folder / "scripts" / "lib", dirs_exist_ok=True)
    path = interpreter(folder / "path" / "python3", "3.12").parent
    environment = {"PATH": f"{path}:/usr/bin:/bin", **({"PYTHON": str(named)} if named else {})}
    code = 'set -euo pipefail; . "$1/scripts/lib/venv.sh"; has_uv() { false; }; make_venv; version "$BIN/python"'
    command = [str(BASH), "-c", code, "test", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_a_new_environment_has_the_interpreter_that_is_named_or_found(tmp_path: Path) -> None:
    named = made(tmp_path / "named", interpreter(tmp_path / "python", "3.13"))
    assert (named.returncode, named.stdout.splitlines()[-1]) == (0, "3.13")
    unnamed = made(tmp_path / "found", None)
    assert (unnamed.returncode, unnamed.stdout.splitlines()[-1]) == (0, "3.12")


def test_an_environment_of_another_version_is_neither_used_nor_replaced(tmp_path: Path) -> None:
    assert made(tmp_path, None).returncode == 0
    done = made(tmp_path, interpreter(tmp_path / "python", "3.13"))
    assert done.returncode == 2
    assert "has Python 3.12, and PYTHON names 3.13; remove .venv" in done.stderr
    assert made(tmp_path, interpreter(tmp_path / "python", "3.12")).returncode == 0
    assert made(tmp_path, None).returncode == 0


@pytest.mark.parametrize("version", ["3.10", None])
def test_a_named_interpreter_that_cannot_be_used_is_not_replaced_by_another(
    tmp_path: Path, version: str | None
) -> None:
    named = interpreter(tmp_path / "python", version) if version else tmp_path / "none"
    done = made(tmp_path, named)
    assert done.returncode == 2
    assert f"PYTHON={named} is not a Python 3.11 or newer that runs" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(("workers", "spread"), [(None, "-n 3 --dist worksteal"), ("0", "-n 0 --dist worksteal")])
def test_tests_are_spread_over_three_processes_unless_another_number_is_given(workers: str | None, spread: str) -> None:
    environment = {"PATH": os.defpath, **({"PYTEST_WORKERS": workers} if workers else {})}
    code = 'set -euo pipefail; . scripts/lib/venv.sh; printf "%s" "${SPREAD[*]}"'
    done = subprocess.run(
        [str(BASH), "-c", code], cwd=ROOT, capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout == spread


def kept_at(place: Path, free_kb: int, **more: str) -> str:
    """``TMPDIR`` where ``place`` is kept in memory and has so much room; and that nothing is left there."""
    stands_in = f"df() {{ printf 'a heading\\nmemory 1 1 {free_kb} 1%% there\\n'; }}"
    code = (
        'set -euo pipefail; . scripts/lib/venv.sh; eval "$1"; temporary_files_in_memory "$2"; printf "%s" "${TMPDIR:-}"'
    )
    command = [str(BASH), "-c", code, "test", stands_in, str(place)]
    environment = {"PATH": os.environ["PATH"], **more}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=True)
    assert not place.exists() or not list(place.iterdir())
    return done.stdout


def test_temporary_files_are_in_memory_where_there_is_room_and_nobody_said_otherwise(tmp_path: Path) -> None:
    assert Path(kept_at(tmp_path, 3_000_000)).parent == tmp_path
    assert kept_at(tmp_path, 65_536) == ""
    assert kept_at(tmp_path / "none", 3_000_000) == ""
    assert kept_at(tmp_path, 3_000_000, TMPDIR="/elsewhere") == "/elsewhere"
