"""Appending to a file that others append to: whole lines, whatever was left of an earlier one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from promptpex.codecs.files.append_whole import append_whole

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from promptpex.codecs.files.append_whole import append_whole

for number in range(60):
    append_whole(Path(sys.argv[1]), (sys.argv[2] * 9_000 + "\\n").encode() * 3, drop_cut_line=True)
"""


@pytest.mark.parametrize("left", [b"", b"a\n", b"a\nb", b"b", b"a\n" + b"b" * 200_000, b"b" * 200_000])
def test_what_was_left_of_a_line_is_dropped_or_ended(tmp_path: Path, left: bytes) -> None:
    file = tmp_path / "lines"
    file.write_bytes(left)
    append_whole(file, b"c\n")
    assert file.read_bytes() == left + (b"\n" if left and not left.endswith(b"\n") else b"") + b"c\n"
    file.write_bytes(left)
    append_whole(file, b"c\n", drop_cut_line=True)
    assert file.read_bytes() == left[: left.rfind(b"\n") + 1] + b"c\n"


def test_processes_take_turns(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(file), sign], cwd=ROOT) for sign in "ab"]
    assert [writer.wait(300) for writer in writers] == [0, 0]
    lines = file.read_bytes().splitlines()
    assert {(line[:1], len(line)) for line in lines} == {(b"a", 9_000), (b"b", 9_000)}
    assert len(lines) == 2 * 60 * 3
