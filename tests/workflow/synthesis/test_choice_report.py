"""The report of a choice: its sentences and its tables, by ``select`` and again by ``report``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.codecs.safe_csv import loads
from promptpex.core.errors import SynthesisError
from promptpex.core.records import (
    Criterion,
    Grade,
    Implication,
)
from promptpex.documents.human_grades import append_grades
from promptpex.synthesis.folder import read_candidates, write_candidates
from promptpex.workflow.choice_report import (
    CANDIDATE_COLUMNS,
    FAILURE_COLUMNS,
    ChoiceReport,
    Row,
    check_text,
    report_of_folder,
    write_tables,
)
from tests.synthesis.test_problem_of_folder import Desk

ENDING = "\n\nTables: p.synthesis/candidates.csv, p.synthesis/failures.csv\n"
LABELS = "ggggbbbb-"
COLUMNS = {
    "one": "ppppfffpp",
    "two": "fpppfpppp",
    "weak": "ppppfpppp",
    "all": "fffffffff",
    "wide": "ffffppppp",
    "errs": "eepppppep",
}
IMPLICATIONS = (
    Implication(stronger="one", weaker="weak", evidence="judge"),
    Implication(stronger="two", weaker="one", evidence="judge"),
    Implication(stronger="one", weaker="two", evidence="person", accepted=False),
    Implication(stronger="wide", weaker="errs", evidence="same-code"),
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder of six candidates on four good outputs, four bad ones and one without a label."""
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(COLUMNS, LABELS, *IMPLICATIONS)
    synthesis = read_candidates(made.folder.candidates)
    criterion = Criterion(id="c1", text="It says the thing.", category="inclusion", source="Say it", version="a1")
    candidates = [one.replace(criteria=("c1",)) if one.id == "one" else one for one in synthesis.candidates]
    candidates[-1] = candidates[-1].replace(choice="never")
    write_candidates(
        made.folder.candidates, synthesis.replace(criteria=(criterion,), candidates=tuple(candidates)), by_hand=True
    )
    return made


def select(*arguments: str) -> int:
    return run_cli(["select", "p.synthesis", "--method", "cov", "--ffr", "0", *arguments])


def candidates(desk: Desk) -> dict[str, Row]:
    return {one["candidate"]: one for one in report_of_folder(desk.folder.path).candidates}


def examples(desk: Desk) -> dict[str, Row]:
    return {one["name"]: one for one in report_of_folder(desk.folder.path).examples}


def test_select_ends_with_where_the_tables_are(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert select() == 0
    out = capsys.readouterr().out
    assert out.endswith(ENDING)
    assert max(map(len, out.splitlines())) <= 80
    assert "one,chosen," in (desk.folder.path / "candidates.csv").read_text(encoding="utf-8")
    assert "c7" in (desk.folder.path / "failures.csv").read_text(encoding="utf-8")
    assert select("--json") == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == ["one"]


def test_report_writes_the_same_tables_again(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert select() == 0
    table = desk.folder.path / "candidates.csv"
    text = table.read_bytes()
    table.unlink()
    capsys.readouterr()
    assert run_cli(["report", "p.synthesis"]) == 0
    out = capsys.readouterr().out
    assert table.read_bytes() == text
    assert " ".join(out.split()).startswith(
        "The method cov chooses 1 of 6 candidates: 3 of 4 bad outputs caught, 0 of 4 good flagged; proven optimal."
    )
    assert out.endswith(ENDING)
    assert run_cli(["report", "p.synthesis", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["choice"]["chosen"]) == ["one"]
    assert run_cli(["report", "p.synthesis", "--confidence", ".9"]) == 2
    assert "--confidence changes the report of a run; p.synthesis is a synthesis folder" in capsys.readouterr().err
    assert run_cli(["report", "p.synthesis", "--open"]) == 2
    assert "--open opens the report of a run; p.synthesis is a synthesis folder" in capsys.readouterr().err


def test_each_candidate_has_what_became_of_it(desk: Desk) -> None:
    assert select() == 0
    made = candidates(desk)
    assert list(made) == ["one", "weak", "two", "wide", "errs", "all"]
    assert {name: (one["state"], one["why"]) for name, one in made.items()} == {
        "one": ("chosen", ""),
        "two": ("left out", ""),
        "weak": ("implied", "by one"),
        "all": ("screened", "all fails all 9 examples"),
        "wide": ("left out", ""),
        "errs": ("never", "a person said never"),
    }
    assert [tuple(made[name][column] for column in CANDIDATE_COLUMNS[-4:]) for name in COLUMNS] == [
        *((3, 3, 0, 0), (1, 0, 1, 0), (1, 0, 0, 0)),
        *((4, 0, 4, 0), (0, 0, 4, 0), (1, 0, 2, 3)),
    ]
    of_criterion = [made["one"][column] for column in ("criterion", "category", "origin")]
    assert of_criterion == ["It says the thing.", "Inclusion", "version a1, “Say it”"]


def test_each_failure_has_what_catches_it_and_what_would(desk: Desk) -> None:
    grade = Grade.of(
        inputs={}, output="text 7", time="2026-03-01T09:00:00+00:00", grader="ada", case="c7", model="m", value="bad",
        note="It says nothing.",
    )  # fmt: skip
    own = {one.id: one for one in desk.folder.read_examples()}
    append_grades(desk.prompt.with_name("p.grades.jsonl"), [grade])
    desk.folder.write_examples([one.replace(id=grade.key) if one.case == "c7" else one for one in own.values()])
    text = desk.folder.matrix.read_text(encoding="utf-8")
    desk.folder.matrix.write_text(text.replace(f"{7:032x}", grade.key), encoding="utf-8")
    assert select("--coverage", ".5") == 0
    made = examples(desk)
    assert list(made) == ["c4", "c5", "c6", "c7"]
    assert (made["c4"]["flagged_by"], made["c4"]["other_candidates"]) == ("one", "two\nweak")
    assert [made["c7"][one] for one in ("flagged_by", "other_count", "notes")] == ["", 0, "ada: It says nothing."]
    assert run_cli(["select", "p.synthesis", "--method", "baseline", "--ffr", "1"]) == 0
    flagged = examples(desk)["c0"]
    assert (flagged["label"], flagged["flagged_by"]) == ("good", "two\nwide")


def test_a_choice_that_no_longer_holds_says_so(desk: Desk) -> None:
    assert select() == 0
    assert not any("choose again" in one for one in report_of_folder(desk.folder.path).notices)
    changed = [one.replace(label="good") if one.case == "c7" else one for one in desk.folder.read_examples()]
    desk.folder.write_examples(changed)
    notices = report_of_folder(desk.folder.path).notices
    assert notices[0].startswith("The candidates, outputs or labels have changed since this choice; choose again")


def test_without_a_choice_the_report_says_what_there_is(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of_folder(desk.folder.path)
    assert report.answer == "None of the 6 candidates is chosen yet."
    assert {one["state"] for one in report.candidates} == {"open", "screened", "never"}
    assert [one["name"] for one in report.examples] == ["c4", "c5", "c6", "c7"]
    assert select("--coverage", "1") == 1
    out = capsys.readouterr().out
    assert out.endswith(ENDING)
    text = " ".join(out.split())
    assert "No set of the 5 candidates has coverage of at least 100% and FFR of at most 0%." in text
    assert "At this FFR the best coverage is 75% (3 of 4): candidates one." in text


def test_a_choice_without_examples_has_a_report_without_figures(desk: Desk) -> None:
    desk.folder.candidates.unlink()
    desk.write({"one": "", "two": ""}, "", Implication(stronger="one", weaker="two", evidence="same-code"))
    assert run_cli(["select", "p.synthesis", "--method", "topological"]) == 0
    page = report_of_folder(desk.folder.path)
    assert page.answer == "The method topological chooses 1 of 2 candidates."
    assert [(one["candidate"], one["state"]) for one in page.candidates] == [("one", "chosen"), ("two", "implied")]
    assert page.examples == []


def test_what_is_in_the_way_is_one_sentence(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.folder.candidates.unlink()
    assert run_cli(["report", "p.synthesis"]) == 2
    assert "this folder has no candidates.yaml" in capsys.readouterr().err
    (desk.folder.path.parent / "other").mkdir()
    assert run_cli(["report", "other"]) == 2
    assert "no such run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("ffr_limit",), float("nan")),
        (("method",), "magic"),
        (("figures", "gap"), 1e308),
        (("figures", "ffr", "estimate"), 1e308),
        (("figures", "ffr", "n"), 10**400),
        (("figures", "held_out_ffr", "low"), float("nan")),
    ],
    ids=lambda part: ".".join(part) if isinstance(part, tuple) else "",
)
def test_a_strange_choice_on_disk_is_one_sentence(
    desk: Desk, capsys: pytest.CaptureFixture[str], place: tuple[str, ...], value: object
) -> None:
    assert select() == 0
    whole = part = json.loads(desk.folder.selection.read_text(encoding="utf-8"))
    for key in place[:-1]:
        part = part[key]
    assert place[-1] in part or place[-1] == "gap"
    part[place[-1]] = value
    desk.folder.selection.write_text(json.dumps(whole), encoding="utf-8")
    capsys.readouterr()
    assert run_cli(["report", "p.synthesis"]) == 2
    assert "p.synthesis/selection.json" in capsys.readouterr().err


def test_a_choice_of_an_earlier_version_has_a_report_without_its_figures(desk: Desk) -> None:
    assert select() == 0
    whole = json.loads(desk.folder.selection.read_text(encoding="utf-8"))
    del whole["figures"]
    desk.folder.selection.write_text(json.dumps(whole), encoding="utf-8")
    page = report_of_folder(desk.folder.path)
    assert page.answer == "The method cov chooses 1 of 6 candidates: 3 of 4 bad outputs caught, 0 of 4 good flagged."


def test_a_folder_that_a_link_leads_elsewhere_is_left_alone(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    inner = desk.folder.path.parent / "checkout"
    inner.mkdir()
    (inner / "q.synthesis").symlink_to(desk.folder.path)
    before = sorted(desk.folder.path.iterdir())
    for command in ("select", "report"):
        assert run_cli([command, "checkout/q.synthesis"]) == 2
        assert "a link leads this folder out of the one that holds it" in capsys.readouterr().err
    assert sorted(desk.folder.path.iterdir()) == before


def test_checks_are_shown_by_what_decides_them(desk: Desk) -> None:
    one = read_candidates(desk.folder.candidates).candidates[0].check
    assert check_text(one) == "one"
    assert check_text(one.replace(metric="m", weight=2)) == "one"
    assert json.loads(check_text(one.replace(threshold=0.5))) == {"value": "one", "threshold": 0.5}


def test_the_guide_names_the_columns_in_their_order() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "synthesis.md").read_text(encoding="utf-8")
    for file, columns in (("candidates.csv", CANDIDATE_COLUMNS), ("failures.csv", FAILURE_COLUMNS)):
        row = re.search(rf"^\| `{file}` \|.*\|(.*)\|$", guide, re.MULTILINE)
        assert row is not None
        assert tuple(re.findall("`(.*?)`", row[1])) == columns


@pytest.mark.parametrize("evil", ["=1+1", "@SUM(A1)", "\t=2", '"quoted"\nline'])
def test_no_cell_of_the_tables_is_a_formula_and_links_in_their_place_are_replaced(tmp_path: Path, evil: str) -> None:
    elsewhere = tmp_path / "elsewhere.csv"
    elsewhere.write_text("mine", encoding="utf-8")
    (tmp_path / "failures.csv").symlink_to(elsewhere)
    rows = [dict.fromkeys(columns, evil) for columns in (CANDIDATE_COLUMNS, FAILURE_COLUMNS)]
    for table in write_tables(ChoiceReport("", "", (), rows[:1], rows[1:]), tmp_path):
        text = table.read_text(encoding="utf-8")
        assert evil in [cell for row in loads(text) for cell in row.cells]
        assert f"\n{evil}," not in text
        assert f",{evil}," not in text
    assert elsewhere.read_text(encoding="utf-8") == "mine"
    with pytest.raises(SynthesisError, match=r"the tables cannot be written .*; make the folder writable"):
        write_tables(ChoiceReport("", "", (), [], []), elsewhere / "p.synthesis")
