"""docs/library.md names what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import promptpex
from promptpex.report import Summary
from promptpex.report.run_comparison import RunComparison

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
SECTIONS = dict(part.split("\n", 1) for part in PAGE.split("\n## "))


def test_its_functions_are_public_and_none_is_left_out() -> None:
    named = set(re.findall(r"`(\w+)(?=[(`])", SECTIONS["# The library"])) | set(re.findall(r"promptpex\.(\w+)", PAGE))
    functions = {name for name in promptpex.__all__ if name.islower()} - {"errors", "records", "stats", "tables"}
    assert functions <= named
    assert set(re.findall(r"promptpex\.(\w+)", PAGE)) <= set(promptpex.__all__)


def test_what_it_says_of_a_run_and_of_a_comparison_is_there() -> None:
    of_run = set(re.findall(r"`run\.(\w+)", SECTIONS["A run"]))
    assert {"answer", "models", "summary", "report"} <= of_run
    known = {*promptpex.RunResult.model_fields, *dir(promptpex.RunResult)}
    assert of_run <= known
    summary = re.search(r"all that a report shows: (.*) as DataFrames", SECTIONS["A run"])
    assert summary is not None
    assert set(re.findall(r"`(\w+)`", summary[1])) <= {*(field.name for field in fields(Summary)), *dir(Summary)}
    rows = re.findall(r"^\| (`.*?) \|", SECTIONS["A comparison"], flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(RunComparison.__slots__) - {"confidence"}


def test_its_columns_are_tables() -> None:
    columns = re.findall(r"tables\.(\w+)`", PAGE)
    assert len(columns) >= 5
    assert not [name for name in columns if name not in promptpex.tables.__all__]
