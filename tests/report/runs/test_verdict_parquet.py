"""The verdicts of a large run as a Parquet file: what is read back, by us and by others, and what cannot be written."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from promptpex import tables
from promptpex.codecs.parquet_tables import is_available
from promptpex.core.errors import RunError
from promptpex.core.records import Run, RunInParts
from promptpex.report import runs, summarise
from promptpex.report.files import write
from promptpex.report.runs.verdict_parquet import lacks_parquet
from tests.report.runs.test_parts import random_run
from tests.tables.by_hand import colours

CUBE, LINES = "verdicts.parquet", "verdicts.jsonl"

pytest.importorskip("pyarrow", reason="pyarrow is not installed (the extra parquet)")


def place(tmp_path: Path) -> Path:
    return tmp_path / "results" / "colours" / "run-1"


def finished(folder: Path, made: Run, most_lines: int = 0) -> Path:
    runs.finish(folder, made, most_lines=most_lines)
    return folder


def test_what_is_kept_in_a_table_is_read_back(tmp_path: Path) -> None:
    made = random_run(1)
    sure = made.verdicts[0].replace(confidence=0.25, reason="a\u2028b, \x00 and =1")
    made = made.replace(verdicts=(sure, *made.verdicts[1:]))
    folder = finished(place(tmp_path), made)
    assert not (folder / LINES).exists()
    assert runs.read(folder) == made
    assert len(runs.read_columns(folder).verdicts) == len(made.verdicts)


def test_others_read_the_table_of_verdicts(tmp_path: Path) -> None:
    made = colours()
    table = pd.read_parquet(finished(place(tmp_path), made) / CUBE)
    expected = tables.verdicts(made)
    assert list(table) == list(tables.VERDICT_COLUMNS)
    for name in table:
        assert tables.plain_values(table[name].astype(object)) == tables.plain_values(expected[name].astype(object))


def test_few_verdicts_and_half_characters_stay_lines(tmp_path: Path) -> None:
    made = colours()
    few = finished(place(tmp_path), made, most_lines=len(made.verdicts))
    assert (few / LINES).exists()
    assert not (few / CUBE).exists()
    odd = made.replace(verdicts=(made.verdicts[0].replace(reason="\ud800"), *made.verdicts[1:]))
    assert runs.read(finished(few, odd)) == odd
    assert not (few / CUBE).exists()


def test_one_form_takes_the_place_of_the_other(tmp_path: Path) -> None:
    made, folder = colours(), place(tmp_path)
    for most_lines, there, gone in ((0, CUBE, LINES), (99, LINES, CUBE)):
        finished(folder, made, most_lines)
        assert (folder / there).exists()
        assert not (folder / gone).exists()


@pytest.mark.long
def test_a_report_of_a_table_has_the_figures_and_no_second_table(tmp_path: Path) -> None:
    made, files = random_run(2), []
    for most_lines in (0, 10**6):
        folder = finished(place(tmp_path), made, most_lines)
        read = runs.read_for_report(folder, part=9)
        assert isinstance(read, RunInParts) is (most_lines == 0)
        paths = write(summarise(read, folder=folder), folder)
        files.append({path.name: path.read_bytes() for path in paths})
    assert files[1].keys() - files[0].keys() == {"verdicts.csv"}
    assert {name: files[1][name] for name in files[0]} == files[0]
    write(summarise(runs.read_for_report(finished(folder, made))), folder)
    assert not (folder / "verdicts.csv").exists()


def test_the_same_run_again_is_known_by_its_table(tmp_path: Path) -> None:
    made = colours()
    finished(place(tmp_path), made)
    turned = made.verdicts[0].replace(status="pass" if made.verdicts[0].status == "fail" else "fail")
    for again, name in ((made, "run-1"), (made.replace(verdicts=(turned, *made.verdicts[1:])), "run-1-2")):
        with (
            runs.RunRecords.of(again) as records,
            runs.RunPlace(tmp_path / "results", again, records, fresh=False) as kept,
        ):
            folder = kept.finish(again)[1]
        assert folder is not None
        assert folder.name == name


@pytest.mark.parametrize("data", [b"", b"PAR1 not really PAR1"])
def test_a_damaged_table_is_named(tmp_path: Path, data: bytes) -> None:
    folder = finished(place(tmp_path), colours())
    (folder / CUBE).write_bytes(data)
    with pytest.raises(RunError, match="the table of verdicts cannot be read as Parquet"):
        runs.read(folder)


def test_a_row_that_is_no_verdict_is_named(tmp_path: Path) -> None:
    folder = finished(place(tmp_path), colours())
    table = pd.read_parquet(folder / CUBE)
    table["status"] = table["status"].astype(object).where(table.index != 2, "perhaps")
    table.to_parquet(folder / CUBE)
    with pytest.raises(RunError, match=r"is damaged \(status: .*\) in row 3"):
        runs.read_columns(folder)
    table.drop(columns="rule").to_parquet(folder / CUBE)
    with pytest.raises(RunError, match="cannot be read as Parquet"):
        runs.read_columns(folder)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    folder = finished(place(tmp_path), colours())
    elsewhere = (folder / CUBE).rename(tmp_path / "elsewhere.parquet")
    (folder / CUBE).symlink_to(elsewhere)
    with pytest.raises(RunError, match="is a link"):
        runs.read(folder)
    before = elsewhere.read_bytes()
    finished(folder, colours())
    assert not (folder / CUBE).is_symlink()
    assert elsewhere.read_bytes() == before


def test_only_many_verdicts_as_lines_lack_pyarrow(tmp_path: Path) -> None:
    made = colours()
    folder = finished(place(tmp_path), made, most_lines=99)
    assert not runs.lacks_parquet(folder, len(made.verdicts))
    assert lacks_parquet(folder, len(made.verdicts), 0) is not is_available()
