"""The committed evaluation: its tables are what its runs say."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.reproduce import markdown
from benchmarks.reproduce import tables as result_tables
from benchmarks.reproduce.__main__ import main
from benchmarks.reproduce.tables import Tables
from promptpex.report.files import csv_text

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results" / "reference" / "evaluation"


@pytest.fixture(scope="module")
def tables() -> Tables:
    return markdown.rebuilt(FOLDER)


@pytest.mark.parametrize("name", ["table2", "table3", "agreement"])
def test_the_committed_tables_are_those_of_the_committed_runs(tables: Tables, name: str) -> None:
    assert (FOLDER / f"{name}.csv").read_text(encoding="utf-8") == csv_text(tables[name])


@pytest.mark.parametrize("name", ["shares", "shares-judged"])
def test_the_committed_shares_have_the_intervals_of_their_counts(name: str) -> None:
    text = (FOLDER / f"{name}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) > 30
    assert text == csv_text(
        result_tables.shares([result_tables.share(row["benchmark"], row["what"], outcomes(row)) for row in rows])
    )


def outcomes(row: dict[str, str]) -> list[bool | None]:
    """The answer for each case or rule that a row of shares counts: yes, no or unknown."""
    yes, n, unknown = (int(row[name]) for name in ("yes", "n", "unknown"))
    return [True] * yes + [False] * (n - yes) + [None] * unknown


def test_the_tables_are_printed_with_their_intervals(tables: Tables) -> None:
    lines = markdown.of_evaluation(tables).splitlines()
    assert len(lines) > 30
    assert "| classify | 3 of 4 (19–99%) | 2 of 3 (9–99%) | +8 (-56 to +71) | 1.00 |" in lines
    assert "| classify | 2 | 1 | 1 | 2 | -50 (-100 to +98) | 0.00 |" in lines


def test_what_rounds_to_nothing_has_no_sign() -> None:
    row = {"difference": -0.004, "difference_low": -0.0049, "difference_high": 0.02, "cosine": -0.001}
    assert markdown._gap(row) == "+0 (+0 to +2)"
    counts = dict.fromkeys(("cases", "unscored", "prompt_broken", "spec_broken"), 1)
    assert markdown._agreement({"benchmark": "b", **counts, **row})[-1] == "0.00"


def test_the_program_writes_the_same_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("prompt", "spec"):
        (tmp_path / "classify" / name).mkdir(parents=True)
        for file in (FOLDER / "classify" / name).iterdir():
            (tmp_path / "classify" / name / file.name).write_bytes(file.read_bytes())
    assert main(["tables", str(tmp_path)]) == 0
    whole = (FOLDER / "table2.csv").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in whole if line.startswith(("benchmark,", "classify,"))]
    assert (tmp_path / "table2.csv").read_text(encoding="utf-8").splitlines() == wanted
    assert "| classify | 3 of 4" in capsys.readouterr().out


def test_the_program_makes_no_tables_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", str(tmp_path)]) == 2
    assert "holds no run" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
