from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.codecs.safe_csv import DANGEROUS, unguard
from promptpex.core.errors import RunError
from promptpex.core.records import Run
from promptpex.report import summarise
from promptpex.report.files import csv_text, write
from promptpex.tables import MODEL_COLUMNS, OUTPUT_COLUMNS, VERDICT_COLUMNS, Table
from tests.tables.by_hand import colours, output, run, verdict

NAMES = ["report.csv", "results.csv", "verdicts.csv", "report.html"]
COLUMNS = {"report.csv": MODEL_COLUMNS, "results.csv": OUTPUT_COLUMNS, "verdicts.csv": VERDICT_COLUMNS}


def cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def write_run(made: Run, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return write(summarise(made, folder=folder), folder)


@pytest.mark.parametrize("made", [run(), colours()], ids=["empty", "colours"])
def test_every_file_is_there_with_every_column(tmp_path: Path, made: Run) -> None:
    paths = write_run(made, tmp_path)
    assert paths[: len(NAMES)] == [tmp_path / name for name in NAMES]
    assert sorted(paths) == sorted(tmp_path.iterdir())
    for name, columns in COLUMNS.items():
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.split("\n")[0] == ",".join(columns)
    assert len(cells((tmp_path / "report.csv").read_text(encoding="utf-8"))) == len(made.manifest.models)


def test_the_figures_are_in_the_files(tmp_path: Path) -> None:
    write_run(colours(), tmp_path)
    first, second = cells((tmp_path / "report.csv").read_text(encoding="utf-8"))
    assert (first["model"], first["scored"], first["non_compliant"], first["cost_usd"]) == ("a", "3", "1", "0.03")
    assert (second["unscored"], second["errors"], second["cost_usd"]) == ("1", "1", "")
    results = cells((tmp_path / "results.csv").read_text(encoding="utf-8"))
    assert [row["verdict"] for row in results] == ["fail", "pass", "pass", "fail", "fail", "fail", "unscored"]
    verdicts = cells((tmp_path / "verdicts.csv").read_text(encoding="utf-8"))
    assert [row["counts"] for row in verdicts][-1] == "False"


def test_writing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in write_run(colours(), tmp_path / "one")]
    assert first == [path.read_bytes() for path in write_run(colours(), tmp_path / "two")]
    assert first == [path.read_bytes() for path in write_run(colours(), tmp_path / "one")]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "＝1"])
def test_no_text_from_outside_begins_as_a_formula(text: str) -> None:
    made = run([output(text=text, model=text)], [verdict("fail", model=text, reason=text)], models=(text,))
    summary = summarise(made)
    for frame in (summary.models, summary.outputs, summary.verdicts):
        for row in cells(csv_text(frame)):
            assert not [cell for cell in row.values() if cell.startswith(tuple(set(DANGEROUS) - {"'"}))]
    assert unguard(cells(csv_text(summary.outputs))[0]["output"]) == text


def test_negative_numbers_stay_numbers() -> None:
    assert csv_text(Table.of([{"x": -1.5, "y": -2, "z": None}], {"x": "Float64", "y": "Int64", "z": "Int64"})) == (
        "x,y,z\n-1.5,-2,\n"
    )


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(), st.text(alphabet="=',\"\r\n \x00a;\t")), min_size=1, max_size=5))
def test_any_text_comes_back_from_the_csv(rows: list[tuple[str, str]]) -> None:
    table = Table.of([{"a": one, "b": two} for one, two in rows], {"a": "string", "b": "string"})
    read = cells(csv_text(table))
    assert [(unguard(row["a"]), unguard(row["b"])) for row in read] == rows


def test_the_table_itself_is_not_changed_by_writing_it() -> None:
    summary = summarise(run([output(text="=1")]))
    csv_text(summary.outputs)
    assert summary.outputs["output"][0] == "=1"


def test_a_folder_that_cannot_be_written_is_an_error_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "results.csv").mkdir()
    with pytest.raises(RunError, match="cannot write the report"):
        write(summarise(run()), tmp_path)
