"""Workbooks from strangers: bounded before they are parsed, no formula run, one sentence for what is broken."""

from __future__ import annotations

import functools
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


def _bomb(data: bytes) -> bytes:
    return b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]>" + data.replace(b">x<", b">&b;<")


def _elsewhere(data: bytes) -> bytes:
    """The workbook with its sheet in a part that is not called ``.xml``."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for info in old.infolist():
            part = old.read(info).replace(b"sheet1.xml", b"sheet1.dat")
            new.writestr(info.filename.replace("sheet1.xml", "sheet1.dat"), part, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _far_apart(formula: bytes, data: bytes) -> bytes:
    data = (
        data.replace(b'r="A1"', b'r="XFD1"').replace(b'r="A2"', b'r="XFD2"').replace(b"<v>0</v>", formula + b"<v>0</v>")
    )
    return data.replace(b"<sheetData>", b'<dimension ref="A1:XFD1048576"/><sheetData>')


def _twice(data: bytes) -> bytes:
    archive = io.BytesIO(data)
    with warnings.catch_warnings(), zipfile.ZipFile(archive, "a") as file:
        warnings.simplefilter("ignore")
        file.writestr("../../evil.xml", "<x/>")
    return archive.getvalue()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (_changed(SHEET, _bomb), "definitions of XML"),
        (_changed(SHEET, lambda data: b" " * 3_000_000 + _bomb(data)), "definitions of XML"),
        (_changed(SHEET, lambda data: data.decode().encode("utf-16")), "definitions of XML, or XML in UTF-16"),
        (_changed(SHEET, lambda data: data.decode().encode("utf-16-le")), "definitions of XML, or XML in UTF-16"),
        (_elsewhere(_changed(SHEET, _bomb)), "definitions of XML"),
        (_changed(SHEET, lambda data: data.decode().encode("cp037")), "cannot be read as Excel"),
        (_changed(SHEET, lambda _: b"<worksheet"), "cannot be read as Excel"),
        (_changed("xl/workbook.xml", lambda _: b"<a/>"), "cannot be read as Excel"),
        (excel.dumps([["q"]])[:300], "not an Excel workbook"),
        (b"PK\x03\x04", "not an Excel workbook"),
        (b"q,a\n1,2\n", "not an Excel workbook"),
    ],
)
def test_what_is_broken_or_hides_something_is_one_sentence(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with pytest.raises(InputError) as failure:
        excel.rows(path)
    assert says in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1


def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(_changed(SHEET, lambda data: data + b" " * 60_000))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="unpacks to more than") as refused:
        excel.rows(path, most_unpacked=50_000)
    assert str(refused.value).count(str(path)) == 1


def test_a_part_that_is_packed_to_nothing_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", "<row/>" * 4_000_000)
    with pytest.raises(InputError, match=r"unpacks to more than .* save its rows as CSV"):
        excel.rows(path)


@pytest.mark.parametrize("tags", [b"<row/>" * 300_000, b"<mergeCell/>" * 60_000])
def test_more_tags_than_the_file_is_long_are_not_parsed(tmp_path: Path, tags: bytes) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(_changed(SHEET, lambda data: data.replace(b"</sheetData>", tags + b"</sheetData>")))
    with pytest.raises(InputError, match="far more cells or styles than its size explains"):
        excel.rows(path)


def test_cells_far_apart_do_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(_changed(SHEET, lambda data: data.replace(b'r="A2"', b'r="XFD2"')))
    (first, second) = excel.rows(path)[1]
    assert (first.cells, second.cells[-1], len(second.cells)) == (("q",), "x", 16_384)
    for formula in (b"", b"<f>1</f>"):
        path.write_bytes(_changed(SHEET, functools.partial(_far_apart, formula)))
        with pytest.raises(InputError, match="more than 20,000 cells"):
            excel.rows(path, most_cells=20_000)


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
