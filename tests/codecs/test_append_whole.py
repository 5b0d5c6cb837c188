"""Appending to a file that others append to: whole lines, whatever was left of an earlier one."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from promptpex.codecs import jsonl
from promptpex.codecs.files.file_lock import append_whole

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from promptpex.codecs.files.file_lock import append_whole

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


def test_a_reader_stops_where_a_writer_is_in_the_middle_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"id": 1}\n{"id":')
    lines = jsonl.raw_lines(path, what="file")
    seen = [next(lines), next(lines)]
    with path.open("ab") as writer:
        writer.write(b' 2}\n{"id": 3}\n')
    assert [line.data for line in (*seen, *lines)] == [b'{"id": 1}', b'{"id":']
    assert [line.value for line in jsonl.read(path, what="file")] == [{"id": 1}, {"id": 2}, {"id": 3}]
    path.write_bytes(b'{"id": 1}\n{"id":')
    torn = jsonl.read(path, what="recording", cut_tail=True)
    assert [line.value for line in torn] == [{"id": 1}]


def test_lines_of_several_writers_do_not_mix(tmp_path: Path) -> None:
    path, long = tmp_path / "lines.jsonl", "x" * 300_000
    writers = [jsonl.Appender(path, append=True) for _ in range(4)]

    def write(at: int) -> None:
        for _ in range(20):
            writers[at].add(f'"{at}{long}"\n')

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert Counter(line.value[0] for line in jsonl.read(path, what="file")) == dict.fromkeys("0123", 20)
    for writer in writers:
        writer.close()
