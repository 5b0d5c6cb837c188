"""Scores in a run's folder: kept, read back as records and as columns, and written as a CSV file that runs nothing."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest
from pydantic import ValidationError

from promptpex import tables
from promptpex.core.errors import RunError
from promptpex.core.records import Score
from promptpex.report import runs, summarise
from promptpex.report.files import write
from tests.tables.by_hand import output, run, score

OUTPUTS = [output("c1"), output("c2"), output("c3")]
SCORES = [
    score(1.0, "c1", fingerprint="f"),
    score(0.25, "c1", name="tone", source="judge:j", counts=False, turn=1, reason="a\x00\u2028b"),
    score(None, "c2", unscored="judge-empty", source="judge:j"),
]


def test_scores_come_back_as_they_were_as_records_and_as_columns(tmp_path: Path) -> None:
    made = run(OUTPUTS, scores=SCORES)
    runs.finish(tmp_path, made)
    assert runs.read(tmp_path) == made
    of_columns = tables.scores(runs.read_for_report(tmp_path))
    pd.testing.assert_frame_equal(of_columns, tables.scores(made), check_exact=True)
    assert {name: str(kind) for name, kind in of_columns.dtypes.items()} == dict(tables.SCORE_COLUMNS)
    assert of_columns["value"].astype(object).where(of_columns["value"].notna(), None).tolist() == [1.0, 0.25, None]
    assert runs.read(tmp_path, verdicts=False).scores == ()


def test_a_score_of_an_output_that_is_not_there_does_not_count(tmp_path: Path) -> None:
    runs.finish(tmp_path, run(OUTPUTS, scores=[*SCORES, score(1.0, "gone")]))
    assert runs.read(tmp_path).scores == tuple(SCORES)


def test_a_run_without_scores_has_no_file_of_them_nor_one_of_an_earlier_execution(tmp_path: Path) -> None:
    runs.finish(tmp_path, run(OUTPUTS, scores=SCORES))
    write(summarise(runs.read(tmp_path)), tmp_path)
    assert (tmp_path / "scores.jsonl").exists()
    assert (tmp_path / "scores.csv").exists()
    runs.finish(tmp_path, run(OUTPUTS))
    write(summarise(runs.read(tmp_path)), tmp_path)
    assert not (tmp_path / "scores.jsonl").exists()
    assert not (tmp_path / "scores.csv").exists()
    assert list(tables.scores(runs.read_for_report(tmp_path)).columns) == list(tables.SCORE_COLUMNS)


def test_a_damaged_line_of_scores_is_named_with_its_number(tmp_path: Path) -> None:
    runs.finish(tmp_path, run(OUTPUTS, scores=SCORES))
    lines = (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    damaged = [lines[0], lines[1].replace("0.25", "1.25"), lines[2]]
    (tmp_path / "scores.jsonl").write_text("".join(damaged), encoding="utf-8")
    with pytest.raises(RunError, match=r"scores\.jsonl:2"):
        runs.read(tmp_path)


def test_no_text_in_scores_begins_as_a_formula(tmp_path: Path) -> None:
    one = output(model="=1+1")
    write(summarise(run([one], scores=[score(model="=1+1", reason="@SUM(A1)", name="-x")], models=("=1+1",))), tmp_path)
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert list(row) == list(tables.SCORE_COLUMNS)
    assert [row[name][0] for name in ("model", "reason", "name")] == ["'"] * 3


@pytest.mark.parametrize(
    "wrong", [{"value": 1.1}, {"value": float("nan")}, {"value": None}, {"unscored": "x"}, {"name": ""}]
)
def test_a_score_is_a_number_from_0_to_1_or_the_reason_why_there_is_none(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Score.model_validate({**score().model_dump(), **wrong})
