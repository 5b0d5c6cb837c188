"""``candidates.csv`` and ``failures.csv``: read back as they were, and nothing for a spreadsheet to run."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from promptpex.codecs.safe_csv import loads
from promptpex.core.errors import SynthesisError
from promptpex.report.choices import files
from promptpex.report.choices.csv_tables import CANDIDATE_COLUMNS, FAILURE_COLUMNS, candidates_csv, failures_csv
from tests.report.choices.choice_records import page


def test_the_tables_hold_what_the_page_shows() -> None:
    header, first, second = (row.cells for row in loads(candidates_csv(page().candidates)))
    assert header == CANDIDATE_COLUMNS
    row = dict(zip(header, first, strict=True))
    assert (row["candidate"], row["state"], row["criterion"]) == ("names_a_year", "chosen", "The text names the year.")
    assert second[1] == "screened"
    header, caught, missed, alarm = (row.cells for row in loads(failures_csv(page().examples)))
    assert header == FAILURE_COLUMNS
    row = dict(zip(header, caught, strict=True))
    assert (row["label"], row["flagged_by"], row["notes"]) == ("bad", "names_a_year", "ada: dull")
    assert row["inputs"] == '{"work": "The Night Watch"}'
    assert (missed[5], alarm[2], alarm[5]) == ("", "good", "names_a_year")


def test_the_guide_names_the_columns_in_their_order() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "synthesis.md").read_text(encoding="utf-8")
    for file, columns in (("candidates.csv", CANDIDATE_COLUMNS), ("failures.csv", FAILURE_COLUMNS)):
        row = re.search(rf"^\| `{file}` \|.*\|(.*)\|$", guide, re.MULTILINE)
        assert row is not None
        assert tuple(re.findall("`(.*?)`", row[1])) == columns


@pytest.mark.parametrize("evil", ["=1+1", "@SUM(A1)", "\t=2", '"quoted"\nline'])
def test_no_cell_is_a_formula(evil: str) -> None:
    for text in (candidates_csv(page(evil).candidates), failures_csv(page(evil).examples)):
        cells = [cell for row in loads(text) for cell in row.cells]
        assert evil in cells
        assert f"\n{evil}," not in text
        assert f",{evil}," not in text


def test_files_replace_links_and_say_what_is_in_the_way(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.html"
    elsewhere.write_text("mine", encoding="utf-8")
    folder = tmp_path / "p.synthesis"
    folder.mkdir()
    (folder / "report.html").symlink_to(elsewhere)
    made = files.write(page(), folder)
    assert elsewhere.read_text(encoding="utf-8") == "mine"
    assert made.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(os.listdir(folder)) == ["candidates.csv", "failures.csv", "report.html"]
    first = made.read_bytes()
    files.write(page(), folder)
    assert made.read_bytes() == first
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(SynthesisError, match=r"the report cannot be written .*; make the folder writable"):
        files.write(page(), blocked / "p.synthesis")
