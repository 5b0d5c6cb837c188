"""Tables of other tools as cases: CSV, JSON lines, Parquet and Excel with a mapping, and what each type becomes."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.cases.file import read_suite
from promptpex.cli.main import run_cli
from promptpex.codecs import table_files
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Suite
from promptpex.interchange import case_tables, suite_files
from promptpex.interchange.case_tables import (
    mapping_of,
    read_csv,
    read_excel,
    read_jsonl,
    read_parquet,
    write_excel,
    write_parquet,
)
from promptpex.interchange.format import Imported, Project
from tests.samples import suite

pytest.importorskip("openpyxl", reason="openpyxl is not installed (the extra excel)")
arrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra parquet)")
pq: Any = pytest.importorskip("pyarrow.parquet")

QUESTIONS = [
    {"question": "2+2?", "answer": "4", "topic": "sums"},
    {"question": "=1+1", "answer": "-2", "topic": "sums"},
]
COLUMNS = "question=inputs.question,answer=expected"
BROKEN = (
    b"",
    b"\0\1\2",
    b"PK\x03\x04broken",
    b"PAR1PAR1",
    b'{"a": NaN}',
    b'{"a": "\\ud800"}',
    b"[" * 100_000,
    b'a,b\n"x',
)


def _csv(rows: list[dict[str, Any]]) -> bytes:
    lines = [",".join(rows[0]), *(",".join(str(value) for value in row.values()) for row in rows)]
    return "\n".join(lines).encode()


def _jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _excel(rows: list[dict[str, Any]]) -> bytes:
    return table_files.excel_bytes([list(rows[0]), *(list(row.values()) for row in rows)])


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    return table_files.parquet_bytes({name: [row[name] for row in rows] for name in rows[0]})


KINDS: Mapping[str, tuple[str, Callable[..., Imported], Callable[[list[dict[str, Any]]], bytes]]] = {
    "csv": ("a.csv", read_csv, _csv),
    "jsonl": ("a.jsonl", read_jsonl, _jsonl),
    "excel": ("a.xlsx", read_excel, _excel),
    "parquet": ("a.parquet", read_parquet, _parquet),
}


def _read(folder: Path, kind: str, rows: list[dict[str, Any]], **options: Any) -> Imported:
    name, read, dumps = KINDS[kind]
    (folder / name).write_bytes(dumps(rows))
    return read(folder / name, **options)


def _cases(made: Imported) -> tuple[Case, ...]:
    assert made.suite is not None
    return made.suite.cases


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_named_become_cases_and_the_others_are_named(tmp_path: Path, kind: str) -> None:
    made = _read(tmp_path, kind, QUESTIONS, columns=COLUMNS)
    assert [(case.inputs, case.expected) for case in _cases(made)] == [
        ({"question": "2+2?"}, "4"),
        ({"question": "=1+1"}, "-2"),
    ]
    assert dict(made.over) == {"question": 2, "answer": 2}
    (note,) = made.notes
    assert (note.name, note.became, note.why) == ("topic", "left out", "--columns does not name it")
    assert note.line in (1, 2)
    assert len(_cases(_read(tmp_path, kind, QUESTIONS, columns=COLUMNS, first=1))) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_mapping_one_sentence_lists_the_columns_and_shows_one(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, _, dumps = KINDS[kind]
    (tmp_path / name).write_bytes(dumps(QUESTIONS))
    assert run_cli(["import", str(tmp_path / name)]) == 2
    message = capsys.readouterr().err
    assert len(message.strip().splitlines()) == 1
    assert "(question, answer, topic)" in message
    shown = message.partition("--columns '")[2].partition("'")[0]
    assert shown == "question=inputs.question,topic=inputs.topic,answer=expected"
    assert run_cli(["import", str(tmp_path / name), "--columns", shown, "--out", str(tmp_path / "a.cases.yaml")]) == 0
    assert [case.inputs["topic"] for case in read_suite(tmp_path / "a.cases.yaml").cases] == ["sums", "sums"]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("question", "'question' is not THEIRS=OURS"),
        ("question=input.q", "did you mean"),
        ("question=answer", "is not THEIRS=OURS"),
        ("answer=expected", "names no input"),
        ("a=inputs.x,b=inputs.x", "two columns are inputs.x"),
        ('"a=inputs.x', "cannot be read"),
        ("", "names no input"),
        ("nowhere=inputs.x", "there is no column 'nowhere'; there are question, answer, topic"),
    ],
)
def test_a_mapping_that_means_nothing_is_one_sentence(tmp_path: Path, columns: str, says: str) -> None:
    for kind in KINDS:
        with pytest.raises(InputError) as failure:
            _read(tmp_path, kind, QUESTIONS, columns=columns)
        assert says in str(failure.value), kind


def test_names_with_commas_and_signs_can_be_mapped() -> None:
    assert mapping_of('"first, second=inputs.a",a=b=expected') == {"first, second": "inputs.a", "a=b": "expected"}


def test_keys_in_mappings_are_reached_by_dots(tmp_path: Path) -> None:
    rows = [{"doc": {"q": "why?", "answers": {"text": ["so", "thus"]}}, "id": 7}, {"doc": {"q": None}, "id": 8}]
    made = _read(tmp_path, "jsonl", rows, columns="doc.q=inputs.q,doc.answers.text=expected,id=id")
    (case,) = _cases(made)
    assert (case.id, case.inputs, case.expected, case.also_right) == ("7", {"q": "why?"}, "so", ("thus",))
    assert [(note.why, note.line) for note in made.notes] == [("none of its inputs has a value", 2)]


def test_what_each_type_of_a_parquet_file_becomes(tmp_path: Path) -> None:
    table = {
        "int": [7, None],
        "float": [0.5, float("nan")],
        "bool": [True, False],
        "date": [datetime.date(2026, 1, 2), None],
        "when": [datetime.datetime(2026, 1, 2, 3, 4, 5), None],
        "exact": [decimal.Decimal("1.25"), None],
        "list": [["a", "b"], None],
        "struct": [{"x": 1}, None],
        "image": [{"bytes": b"\x89PNG", "path": None}, None],
        "raw": [b"\xff", None],
        "label": [3, 4],
        "text": ["a", "b"],
    }
    pq.write_table(arrow.table(table), tmp_path / "a.parquet")
    names = ["int", "float", "bool", "date", "when", "exact", "list", "struct", "text"]
    mapping = ",".join(f"{name}=inputs.{name}" for name in names) + ",label=expected"
    made = read_parquet(tmp_path / "a.parquet", columns=mapping)
    first, second = _cases(made)
    assert first.inputs == {
        "int": 7, "float": 0.5, "bool": True, "date": "2026-01-02", "when": "2026-01-02T03:04:05", "exact": 1.25,
        "list": ["a", "b"], "struct": {"x": 1}, "text": "a",
    }  # fmt: skip
    assert first.expected == "3"
    assert second.inputs == {"bool": False, "text": "b"}
    notes = {note.name: (note.became, note.why, note.line) for note in made.notes}
    assert notes["image"][:2] == (
        "left out",
        "it contains images, sounds or other files (bytes), neither text nor numbers",
    )
    assert notes["raw"][:2] == ("left out", "it contains binary, neither text nor numbers")
    assert notes["float"] == ("left out", "it is not a number (NaN, or infinite)", 2)
    assert notes["list"][0] == notes["struct"][0] == "changed"
    with pytest.raises(InputError, match="'image' contains images"):
        read_parquet(tmp_path / "a.parquet", columns="image=inputs.x")


def test_what_each_type_of_a_sheet_becomes(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["n", "x", "b", "day", "sum", "error", "text"])
    sheet.append([7, 0.5, True, datetime.datetime(2026, 1, 2), "=A2+1", "#N/A", "a"])
    sheet.append([])
    sheet.append([8, None, False, None, None, None, "b"])
    book.create_sheet("other").append(["text"])
    book.save(tmp_path / "a.xlsx")
    mapping = ",".join(f"{name}=inputs.{name}" for name in ("n", "x", "b", "day", "sum", "error", "text"))
    with pytest.raises(InputError, match="there is no column 'n'; there are text"):
        read_excel(tmp_path / "a.xlsx", columns="n=inputs.n", sheet="other")
    with pytest.raises(InputError, match="there is no sheet 'x'; there are Sheet, other"):
        read_excel(tmp_path / "a.xlsx", columns=mapping, sheet="x")
    made = read_excel(tmp_path / "a.xlsx", columns=mapping.replace("sum=inputs.sum,error=inputs.error,", ""))
    first, second = _cases(made)
    assert first.inputs == {"n": 7, "x": 0.5, "b": True, "day": "2026-01-02T00:00:00", "text": "a"}
    assert second.inputs == {"n": 8, "b": False, "text": "b"}
    notes = {note.name: (note.why, note.line) for note in made.notes}
    assert "a formula without a saved value" in notes["E2"][0]
    assert notes["F2"] == ("the cell has an error (#N/A)", 2)


def test_rows_that_are_alike_and_ids_that_are_unfit_are_told_apart(tmp_path: Path) -> None:
    rows = [{"id": "a/b", "q": "x"}, {"id": "a/b", "q": "x"}, {"id": "c", "q": "y"}]
    made = _read(tmp_path, "csv", rows, columns="id=id,q=inputs.q")
    assert [case.id for case in _cases(made)] == ["a-b", "a-b-2", "c"]
    assert [(note.name, note.became, note.line) for note in made.notes] == [("id", "changed", 2), ("id", "changed", 3)]
    again = _read(tmp_path, "csv", rows, columns="q=inputs.q")
    assert len({case.id for case in _cases(again)}) == 3


def test_what_nests_too_deep_is_left_out_with_its_line(tmp_path: Path) -> None:
    deep = "[" * 60 + "]" * 60
    (tmp_path / "a.jsonl").write_text(f'{{"q": {deep}, "r": "x"}}\n', encoding="utf-8")
    made = read_jsonl(tmp_path / "a.jsonl", columns="q=inputs.q,r=inputs.r")
    assert _cases(made)[0].inputs == {"r": "x"}
    assert [(note.name, note.line) for note in made.notes] == [("q", 1)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", BROKEN)
def test_broken_files_are_one_sentence(tmp_path: Path, kind: str, content: bytes) -> None:
    name, read, _ = KINDS[kind]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as failure:
        read(tmp_path / name, columns="a=inputs.a")
    assert len(str(failure.value).splitlines()) == 1


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["=1+1", "+a", "-b", "@c", "'=x", "_x0041_", "x005F_", "a\rb", "\n", " pad ", "#N/A", "true", "1"]
)
VALUES = TEXTS | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.none()


@st.composite
def _suites(draw: st.DrawFn) -> Suite:
    rows = draw(st.lists(st.dictionaries(st.sampled_from(["a", "b"]), VALUES, min_size=1), min_size=1, max_size=4))
    cases = [
        Case(id=f"c{number}", inputs=row, expected=draw(st.none() | TEXTS), reasoning=draw(TEXTS), origin="added",
             answer_in_context=draw(st.none() | st.booleans()))
        for number, row in enumerate(rows)
    ]  # fmt: skip
    return Suite(prompt="p.md", cases=tuple(cases))


class _Suite:
    """A source of cases alone."""

    def __init__(self, record: Suite) -> None:
        self._record = record

    def suite(self) -> Suite:
        return self._record

    def project(self) -> Project:
        raise AssertionError

    def run(self) -> Any:
        raise AssertionError


@settings(max_examples=10)
@given(_suites())
def test_suites_come_back_from_every_table_as_they_were(tmp_path_factory: pytest.TempPathFactory, made: Suite) -> None:
    for write, read, name in ((write_excel, read_excel, "round.xlsx"), (write_parquet, read_parquet, "round.parquet")):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(write(_Suite(made)).data or b"")
        assert [_fields(case) for case in _cases(read(path))] == [_fields(case) for case in made.cases]


def _fields(case: Case) -> tuple[object, ...]:
    return case.id, _typed(case.inputs), case.expected, case.reasoning, case.answer_in_context


def _typed(inputs: Mapping[str, Any]) -> list[tuple[str, type, Any]]:
    return [(name, type(value), value) for name, value in inputs.items()]


def test_a_name_that_no_cell_can_hold_comes_back_too(tmp_path: Path) -> None:
    case = Case(id="a", inputs={"x\x01": "v", "y": "_x0041_", "z": "w"})
    suite = Suite(prompt="p.md", cases=(case,))
    rows = suite_files.rows_of(suite, case_tables._fits_excel)
    assert rows[0][4:6] == ["inputs.y", "inputs.z"]
    (back,) = (
        suite_files.gather([(2, suite_files.fields_of(dict(zip(rows[0], rows[1], strict=True)), "t", 2))], "t")
        .require()
        .cases
    )
    assert back.inputs == case.inputs


def test_a_workbook_holds_no_formula_and_names_what_is_too_long(tmp_path: Path) -> None:
    import openpyxl

    long = Case(id="long", inputs={"q": "x" * 40_000}, origin="added")
    hostile = Case(id="h", inputs={"q": "=cmd|' /C calc'!A0"}, expected="@SUM(1)", origin="added")
    made = write_excel(_Suite(Suite(prompt="p.md", cases=(long, hostile))))
    assert made.left_out == ("case long is left out: an Excel cell holds at most 32767 characters",)
    assert made.data is not None
    (tmp_path / "a.xlsx").write_bytes(made.data)
    cells = [cell for row in openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n", "b", "inlineStr"}
    assert [cell.quotePrefix for cell in cells if str(cell.value).startswith(("=", "@"))] == [True, True]


@pytest.mark.parametrize("kind", ["excel", "parquet"])
def test_the_command_writes_files_that_are_no_text_and_reads_them_back(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from promptpex.cases.file import write_suite

    write_suite(tmp_path / "a.cases.yaml", suite())
    out = tmp_path / KINDS[kind][0]
    assert run_cli(["export", kind, str(tmp_path / "a.cases.yaml")]) == 2
    assert "--out" in capsys.readouterr().err
    assert run_cli(["export", kind, str(tmp_path / "a.cases.yaml"), "--out", str(out)]) == 0
    assert run_cli(["import", str(out), "--out", str(tmp_path / "b.cases.yaml")]) == 0
    assert read_suite(tmp_path / "b.cases.yaml").cases == read_suite(tmp_path / "a.cases.yaml").cases


def test_a_date_that_no_calendar_has_is_one_sentence(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    writer = pytest.importorskip("pyarrow.parquet")
    days = pyarrow.array([2**31 - 1], pyarrow.int32()).cast(pyarrow.date32())
    writer.write_table(pyarrow.table({"id": ["a"], "inputs.q": days}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_parquet(tmp_path / "a.parquet")
