"""Workbooks from strangers: no formula run, one sentence for what is broken."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from promptpex.codecs import excel
from promptpex.core.errors import InputError

pytest.importorskip("openpyxl", reason="openpyxl is not installed (the extra excel)")
SHEET = "xl/worksheets/sheet1.xml"


def _changed(name: str, change: Callable[[bytes], bytes]) -> bytes:
    """A workbook of two cells with a part of it changed."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(excel.dumps([["q"], ["x"]]))) as old, zipfile.ZipFile(made, "w") as new:
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
        (excel.dumps([["q"]])[:300], "cannot be read as Excel"),
        (b"PK\x03\x04", "cannot be read as Excel"),
        (b"q,a\n1,2\n", "cannot be read as Excel"),
    ],
)
def test_what_is_broken_is_one_sentence(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with pytest.raises(InputError) as failure:
        excel.rows(path)
    assert says in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1


def test_cells_far_apart_do_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(_changed(SHEET, lambda data: data.replace(b'r="A2"', b'r="XFD2"')))
    (first, second) = excel.rows(path)[1]
    assert (first.cells, second.cells[-1], len(second.cells)) == (("q",), "x", 16_384)


def test_entries_that_lead_out_are_not_written_anywhere(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.xlsx"
    path.write_bytes(_twice(excel.dumps([["q"], ["x"]])))
    assert [row.cells for row in excel.rows(path)[1]] == [("q",), ("x",)]
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["a.xlsx"]


def test_a_text_that_no_cell_holds_is_a_mistake_of_ours() -> None:
    for text in ("\0", "a\rb", "x" * 40_000):
        with pytest.raises(ValueError, match="does not fit"):
            excel.dumps([[text]])
