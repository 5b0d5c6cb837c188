"""``candidates.csv`` and ``failures.csv``: read back as they were, and nothing for a spreadsheet to run."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from promptpex.codecs.safe_csv import loads
from promptpex.core.errors import SynthesisError
from promptpex.report.cards.choice_tables import (
    CANDIDATE_COLUMNS,
    FAILURE_COLUMNS,
    CandidateRow,
    CriterionCells,
    ExampleRow,
    candidates_csv,
    failures_csv,
    write,
)


def candidates(text: str = "names_a_year") -> list[CandidateRow]:
    """Two candidates, the screened one first; texts of the chosen one are ``text``."""
    criterion = CriterionCells("The text names the year.", "Inclusion", "version 3f0c2b1")
    return [
        CandidateRow("is_short", "word-count", "5", "screened", why="passes all 4 examples"),
        CandidateRow(text, "regex", text, "chosen", text, (criterion,), text, caught=1),
    ]


def examples(text: str = "ada: dull") -> list[ExampleRow]:
    """An output that is caught, one that is not, and one that is flagged."""
    inputs = {"work": "The Night Watch"}
    return [
        ExampleRow("e1", "c1/m/0", "bad", text, inputs, text, (text,), ("names_a_year",)),
        ExampleRow("e2", "c2/m/0", "bad", "Come."),
        ExampleRow("e3", "c3/m/0", "good", "1642.", flagged_by=("names_a_year",)),
    ]


def test_the_tables_hold_what_is_known_of_a_choice() -> None:
    header, first, second = (row.cells for row in loads(candidates_csv(candidates())))
    assert header == CANDIDATE_COLUMNS
    row = dict(zip(header, first, strict=True))
    assert (row["candidate"], row["state"], row["criterion"]) == ("names_a_year", "chosen", "The text names the year.")
    assert second[1] == "screened"
    header, caught, missed, alarm = (row.cells for row in loads(failures_csv(examples())))
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
    for text in (candidates_csv(candidates(evil)), failures_csv(examples(evil))):
        cells = [cell for row in loads(text) for cell in row.cells]
        assert evil in cells
        assert f"\n{evil}," not in text
        assert f",{evil}," not in text


def test_files_replace_links_and_say_what_is_in_the_way(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text("mine", encoding="utf-8")
    folder = tmp_path / "p.synthesis"
    folder.mkdir()
    (folder / "failures.csv").symlink_to(elsewhere)
    write(candidates(), examples(), folder)
    assert elsewhere.read_text(encoding="utf-8") == "mine"
    assert sorted(os.listdir(folder)) == ["candidates.csv", "failures.csv"]
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(SynthesisError, match=r"the tables cannot be written .*; make the folder writable"):
        write((), (), blocked / "p.synthesis")
