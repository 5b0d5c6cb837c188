"""CSV, JSON lines and atomic writes: what goes in comes out, and damage is named."""

from __future__ import annotations

import csv
import io
import os
import stat
import subprocess
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.codecs import json_text, jsonl, safe_csv, table_files
from promptpex.codecs.files import file_lock
from promptpex.codecs.files.atomic import write_bytes, write_text
from promptpex.codecs.files.file_lock import append_whole
from promptpex.core.errors import InputError
from promptpex.documents.yaml_reader import load, plain_value

cells = st.text(alphabet=st.characters(exclude_categories=["Cs"])) | st.text("=+-@\t\r\n'\",x ", max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | cells,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(cells, inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.lists(cells, min_size=1, max_size=4), max_size=5))
def test_csv_reads_back(rows: list[list[str]]) -> None:
    assert [list(row.cells) for row in safe_csv.loads(safe_csv.dumps(rows))] == rows


@given(cells)
def test_no_written_cell_is_a_formula(cell: str) -> None:
    guarded = safe_csv.guard(cell)
    assert not guarded.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
    assert safe_csv.unguard(guarded) == cell


def test_csv_rows_know_their_lines() -> None:
    rows = safe_csv.loads('a,"b\nc"\n\nd,e\n')
    assert [(row.line, row.cells) for row in rows] == [(1, ("a", "b\nc")), (4, ("d", "e"))]


def test_a_quote_that_does_not_close_is_named() -> None:
    with pytest.raises(InputError, match="not valid CSV") as caught:
        safe_csv.loads('a,b\nc,"d\n')
    assert caught.value.line == 2


@given(st.lists(values, max_size=5))
def test_json_lines_read_back(items: list[object]) -> None:
    text = "".join(f"{jsonl.dumps(item)}\n" for item in items)
    assert [line.value for line in jsonl.parse(text)] == items


@given(st.lists(st.dictionaries(cells, st.integers(), min_size=1, max_size=2), min_size=1, max_size=4), st.data())
def test_a_cut_tail_loses_the_last_line_only(items: list[dict[str, int]], data: st.DataObject) -> None:
    text = "".join(f"{jsonl.dumps(item)}\n" for item in items)
    last = len(jsonl.dumps(items[-1]))
    cut = text[: len(text) - data.draw(st.integers(2, last + 1))]
    assert [line.value for line in jsonl.parse(cut, cut_tail=True)] == items[:-1]
    if cut and not cut.endswith("\n"):
        with pytest.raises(InputError) as caught:
            list(jsonl.parse(cut))
        assert caught.value.line == len(items)


@pytest.mark.parametrize(
    ("text", "line"), [("{}\n{\n{}\n", 2), ("NaN\n", 1), ('"\\ud800"\n', 1), ("1\n2\nx", 3), ("[" * 99_999, 1)]
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(jsonl.read(path, what="file"))
    assert (caught.value.path, caught.value.line) == (path, line)


def test_a_bad_line_in_the_middle_is_no_cut_tail() -> None:
    with pytest.raises(InputError):
        list(jsonl.parse("{\n{}\n", cut_tail=True))


def test_atomic_writes_keep_permissions_and_links(tmp_path: Path) -> None:
    real = tmp_path / "deep" / "a.txt"
    write_text(real, "one\r\n")
    os.chmod(real, 0o640)
    link = tmp_path / "link"
    link.symlink_to(real)
    write_text(link, "two")
    assert link.is_symlink()
    assert real.read_bytes() == b"two"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [path.name for path in real.parent.iterdir()] == ["a.txt"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    with pytest.raises(OSError):
        write_bytes(folder, b"x")
    assert folder.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("no", "no"), ("012", 12), ("1:30", "1:30"), ("0x1F", 31), ("0o17", 15), ("~", None), ("", None), ("TRUE", True),
     (".inf", ".inf"), ("1e3", 1000.0), (".5", 0.5), ("2024-01-01", "2024-01-01"),
     ("+1", 1), ("yes", "yes"), ("1_0", "1_0")],
)  # fmt: skip
def test_words_mean_what_they_look_like(text: str, value: object) -> None:
    assert plain_value(text) == value
    assert load(f"k: {text}\n", error=InputError, what="file").data == {"k": value}


@given(st.text(max_size=60) | st.text("ab: -\n[]{}#&*!|>'\"%@`,?", max_size=40))
def test_any_text_is_yaml_or_a_named_error(text: str) -> None:
    try:
        doc = load(text, error=InputError, what="file")
    except InputError:
        return
    assert doc.line() >= 1


def test_lines_of_values() -> None:
    doc = load("a:\n  b:\n    - x\n    - y: 1\n", error=InputError, what="file", first_line=10)
    assert [doc.line("a"), doc.line("a", "b", 1), doc.line("a", "b", 1, "y"), doc.line("a", "none")] == [10, 13, 13, 10]


@pytest.mark.parametrize(
    "text", ["a: !!set {b}\n", "a: !!python/object:x 1\n", "a: " + "[" * 200 + "]" * 200, "? [a]\n: b\n", "a: 1e999\n"]
)
def test_strange_yaml_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        load(text, error=InputError, what="file")


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"\n", b"")), max_size=5), st.booleans())
def test_raw_lines_say_where_they_end_and_whether_they_are_whole(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], ends: bool
) -> None:
    path = tmp_path_factory.mktemp("raw") / "a.jsonl"
    data = b"\n".join(parts) + (b"\n" if ends else b"")
    path.write_bytes(data)
    lines = list(jsonl.raw_lines(path, what="file"))
    assert b"".join(line.data + b"\n" * line.is_whole for line in lines) == data.removeprefix(b"\xef\xbb\xbf")
    assert [line.end for line in lines][-1:] == ([len(data)] if data else [])
    assert all(line.is_whole for line in lines[:-1])


def test_a_line_that_is_too_long_is_named_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"[1]\n" + b"x" * 11 + b"\n")
    assert [line.number for line in jsonl.raw_lines(path, what="file", longest=11)] == [1, 2]
    with pytest.raises(InputError, match="longer than 10 bytes") as caught:
        list(jsonl.raw_lines(path, what="file", longest=10))
    assert caught.value.line == 2


def test_an_appender_continues_or_begins_a_file_and_follows_no_link(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for append, expected in ((False, "1\n"), (True, "1\n1\n"), (False, "1\n")):
        appender = jsonl.Appender(path, append=append)
        appender.add("1\n")
        assert path.read_text(encoding="utf-8") == expected, "a line is in the file at once"
        appender.close()
        appender.close()
        assert appender.is_closed
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="link"):
        jsonl.Appender(tmp_path / "link")


LOCKER = """
import os, sys, time
from promptpex.codecs.files.file_lock import lock
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
lock(handle)
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_lock_is_waited_for_and_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "a"
    holder = subprocess.Popen(
        [sys.executable, "-c", LOCKER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    handle = os.open(path, os.O_RDWR)
    try:
        with pytest.raises(OSError, match="another program keeps it locked"):
            file_lock.lock(handle, max_wait_s=0.05)
        holder.kill()
        holder.wait()
        file_lock.lock(handle)
    finally:
        os.close(handle)
        holder.communicate()


def test_rows_of_a_long_csv_come_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    wide = "x" * 200_000
    path.write_bytes(f'\ufeffa,b\r\n\'=1,{wide}\r\n\r\n"c\nd",e\r\n'.encode())
    limit = csv.field_size_limit()
    rows = safe_csv.stream(path, what="file")
    assert next(rows) == safe_csv.CsvRow(1, ("a", "b"))
    assert csv.field_size_limit() == limit
    assert list(rows) == [safe_csv.CsvRow(2, ("=1", wide)), safe_csv.CsvRow(4, ("c\nd", "e"))]
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(InputError, match="not UTF-8"):
        list(safe_csv.stream(path, what="file"))
    with pytest.raises(InputError):
        list(safe_csv.stream(tmp_path / "none", what="file"))


def test_lenient_lines_hold_what_only_python_writes(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": NaN}\n["\\ud83d"]\n', encoding="utf-8")
    lines = jsonl.read(path, what="file", lenient=True)
    assert [str(line.value) for line in lines] == ["{'a': nan}", "['\\ud83d']"]
    with path.open("rb") as file:
        assert [line.number for line in jsonl.read_stream(file, path="-")] == [1, 2]
    for line in path.read_text(encoding="utf-8").splitlines():
        with pytest.raises(InputError, match="not valid JSON"):
            list(jsonl.parse(line))


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


pytest.importorskip("openpyxl", reason="openpyxl is not installed (the extra excel)")
SHEET = "xl/worksheets/sheet1.xml"


def _changed(name: str, change: Callable[[bytes], bytes]) -> bytes:
    """A workbook of two cells with a part of it changed."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(table_files.excel_bytes([["q"], ["x"]]))) as old, zipfile.ZipFile(made, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info.filename, change(data) if info.filename == name else data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _twice(data: bytes) -> bytes:
    archive = io.BytesIO(data)
    with warnings.catch_warnings(), zipfile.ZipFile(archive, "a") as file:
        warnings.simplefilter("ignore")
        file.writestr("../../evil.xml", "<x/>")
    return archive.getvalue()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (_changed(SHEET, lambda _: b"<worksheet"), "cannot be read as Excel"),
        (_changed("xl/workbook.xml", lambda _: b"<a/>"), "cannot be read as Excel"),
        (table_files.excel_bytes([["q"]])[:300], "cannot be read as Excel"),
        (b"PK\x03\x04", "cannot be read as Excel"),
        (b"q,a\n1,2\n", "cannot be read as Excel"),
    ],
)
def test_what_is_broken_is_one_sentence(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with pytest.raises(InputError) as failure:
        table_files.excel_rows(path)
    assert says in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1


def test_cells_far_apart_do_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(_changed(SHEET, lambda data: data.replace(b'r="A2"', b'r="XFD2"')))
    (first, second) = table_files.excel_rows(path)[1]
    assert (first.cells, second.cells[-1], len(second.cells)) == (("q",), "x", 16_384)


def test_entries_that_lead_out_are_not_written_anywhere(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.xlsx"
    path.write_bytes(_twice(table_files.excel_bytes([["q"], ["x"]])))
    assert [row.cells for row in table_files.excel_rows(path)[1]] == [("q",), ("x",)]
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["a.xlsx"]


def test_a_text_that_no_cell_holds_is_a_mistake_of_ours() -> None:
    for text in ("\0", "a\rb", "x" * 40_000):
        with pytest.raises(ValueError, match="does not fit"):
            table_files.excel_bytes([[text]])


def test_two_halves_are_a_character_and_one_is_refused() -> None:
    assert json_text.loads(r'"\ud83d\ude00"') == "\U0001f600"
    with pytest.raises(ValueError, match="half a character"):
        json_text.loads(r'"\ud83d"')
