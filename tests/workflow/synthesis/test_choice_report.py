"""The report of a choice: what of a synthesis folder stands on the page, by ``select`` and again by ``report``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import (
    CategorisedPhrase,
    Change,
    Criterion,
    Delta,
    Grade,
    History,
    Implication,
    Message,
    PromptVersion,
)
from promptpex.documents.human_grades import append_grades
from promptpex.report.choices.records import PageCandidate, PageExample
from promptpex.synthesis.candidate_file import read_candidates, write_candidates
from promptpex.synthesis.json_record_file import HISTORY
from promptpex.workflow.synthesis.choice_page_data import check_text
from promptpex.workflow.synthesis.choice_report import report_of_folder
from tests.synthesis.test_problem_of_folder import Desk

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


def candidates(desk: Desk) -> dict[str, PageCandidate]:
    return {one.id: one for one in report_of_folder(desk.folder.path)[0].candidates}


def examples(desk: Desk) -> dict[str, PageExample]:
    return {one.name: one for one in report_of_folder(desk.folder.path)[0].examples}


def test_select_ends_with_where_the_page_is(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert select() == 0
    out = capsys.readouterr().out
    assert out.endswith("\n\nReport in p.synthesis/report.html\n")
    assert max(map(len, out.splitlines())) <= 80
    text = (desk.folder.path / "report.html").read_text(encoding="utf-8")
    assert "Bad outputs that no chosen assertion catches (1 of 4)" in text
    assert "one,chosen," in (desk.folder.path / "candidates.csv").read_text(encoding="utf-8")
    assert "c7" in (desk.folder.path / "failures.csv").read_text(encoding="utf-8")
    assert select("--json") == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == ["one"]


def test_report_writes_the_same_page_again(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert select() == 0
    page = desk.folder.path / "report.html"
    text = page.read_bytes()
    page.unlink()
    capsys.readouterr()
    assert run_cli(["report", "p.synthesis"]) == 0
    out = capsys.readouterr().out
    assert page.read_bytes() == text
    assert " ".join(out.split()).startswith(
        "The method cov chooses 1 of 6 candidates: 3 of 4 bad outputs caught, 0 of 4 good flagged; proven optimal."
    )
    assert out.endswith("Report in p.synthesis/report.html\n")
    assert run_cli(["report", "p.synthesis", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["choice"]["chosen"]) == ["one"]
    assert run_cli(["report", "p.synthesis", "--confidence", ".9"]) == 2
    assert "--confidence changes the report of a run; p.synthesis is a synthesis folder" in capsys.readouterr().err


def test_each_candidate_has_what_became_of_it(desk: Desk) -> None:
    assert select() == 0
    made = candidates(desk)
    assert {name: (one.state, one.why) for name, one in made.items()} == {
        "one": ("chosen", ""),
        "two": ("left out", ""),
        "weak": ("implied", "by one"),
        "all": ("screened", "all fails all 9 examples"),
        "wide": ("left out", ""),
        "errs": ("never", "a person said never"),
    }
    assert [(one.caught, one.alone, one.flagged, one.errors) for one in made.values()] == [
        *((3, 3, 0, 0), (1, 0, 1, 0), (1, 0, 0, 0)),
        *((4, 0, 4, 0), (0, 0, 4, 0), (1, 0, 2, 3)),
    ]
    assert [(one.text, one.category, one.origin) for one in made["one"].criteria] == [
        ("It says the thing.", "Inclusion", "version a1, “Say it”")
    ]


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
    assert (made["c4"].flagged_by, made["c4"].others) == (("one",), ("two", "weak"))
    assert (made["c7"].flagged_by, made["c7"].other_count, made["c7"].notes) == ((), 0, ("ada: It says nothing.",))
    assert run_cli(["select", "p.synthesis", "--method", "baseline", "--ffr", "1"]) == 0
    flagged = examples(desk)["c0"]
    assert (flagged.label, flagged.flagged_by) == ("good", ("two", "wide"))


def test_reasons_are_those_of_the_matrix(desk: Desk) -> None:
    lines = [json.loads(line) for line in desk.folder.matrix.read_text(encoding="utf-8").splitlines()]
    text = "".join(json.dumps({**one, "reason": "no word"}) + "\n" for one in lines)
    desk.folder.matrix.write_text(text, encoding="utf-8")
    assert select() == 0
    assert examples(desk)["c4"].reasons == {"one": "no word"}


def test_implications_say_whether_they_count(desk: Desk) -> None:
    assert select() == 0
    page, _ = report_of_folder(desk.folder.path)
    assert [(one.stronger, one.weaker, one.evidence, one.word, one.state) for one in page.implications] == [
        ("one", "weak", "a judge", "", "counts"),
        ("two", "one", "a judge", "", "does not count: 2 outputs pass the first and fail the second"),
        ("one", "two", "a person", "struck", "does not count: struck"),
        ("wide", "errs", "the same code", "", "does not count: 1 output passes the first and fails the second"),
    ]
    assert page.followed == 0


def test_the_figures_are_those_of_the_choice(desk: Desk) -> None:
    assert select() == 0
    page, _ = report_of_folder(desk.folder.path)
    assert [(one.name, one.count, one.limit, one.few) for one in page.shares[:2]] == [
        ("coverage", "3 of 4", "at least 60%", True),
        ("FFR", "0 of 4", "at most 0%", True),
    ]
    assert page.shares[2].counted_on.startswith("outputs held out, 4 folds")
    assert page.curve is not None
    assert [(one.ffr, one.coverage) for one in page.curve.points] == [(0.0, 0.75)]
    assert (page.curve.chosen, page.good, page.bad, page.unlabelled) == ((0.0, 0.75), 4, 4, 1)


def test_a_choice_that_no_longer_holds_says_so(desk: Desk) -> None:
    assert select() == 0
    assert not any("choose again" in one for one in report_of_folder(desk.folder.path)[0].notices)
    changed = [one.replace(label="good") if one.case == "c7" else one for one in desk.folder.read_examples()]
    desk.folder.write_examples(changed)
    notices = report_of_folder(desk.folder.path)[0].notices
    assert notices[0].startswith("The candidates, outputs or labels have changed since this choice; choose again")


def test_without_a_choice_the_page_shows_what_there_is(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    page, path = report_of_folder(desk.folder.path)
    assert (page.answer, page.has_choice) == ("None of the 6 candidates is chosen yet.", False)
    assert {one.state for one in page.candidates} == {"open", "screened", "never"}
    assert "Bad outputs that have to be caught (4 of 4)" in path.read_text(encoding="utf-8")
    assert select("--coverage", "1") == 1
    assert capsys.readouterr().out.endswith("Report in p.synthesis/report.html\n")
    text = path.read_text(encoding="utf-8")
    assert "No set of the 5 candidates has coverage of at least 100% and FFR of at most 0%." in text
    assert "At this FFR the best coverage is 75% (3 of 4): candidates one." in text
    assert "Coverage against FFR" in text


def test_a_choice_without_examples_has_a_page_without_figures(desk: Desk) -> None:
    desk.folder.candidates.unlink()
    desk.write({"one": "", "two": ""}, "", Implication(stronger="one", weaker="two", evidence="same-code"))
    assert run_cli(["select", "p.synthesis", "--method", "topological"]) == 0
    page, path = report_of_folder(desk.folder.path)
    assert page.answer == "The method topological chooses 1 of 2 candidates."
    assert [(one.id, one.state) for one in page.candidates] == [("one", "chosen"), ("two", "implied")]
    assert (page.shares, page.examples, page.curve) == ((), (), None)
    assert "Bad outputs" not in path.read_text(encoding="utf-8")


def test_the_history_is_on_the_page_in_two_levels(desk: Desk) -> None:
    messages = (Message(role="user", content="Say it. {{thing}}"),)
    versions = tuple(PromptVersion(name=name, messages=messages, fingerprint=name) for name in ("a1", "b2"))
    deltas = (
        Delta(version="a1", changes=(Change(tag="added", text="Say it."),)),
        Delta(
            version="b2",
            previous="a1",
            changes=(Change(tag="removed", text="Be brief."),),
            moved=1,
            categories=(
                CategorisedPhrase(category="inclusion", source="Say it"),
                CategorisedPhrase(category="quantity", source="brief"),
            ),
        ),
    )
    HISTORY.write(desk.folder.versions, History(prompt="p.md", versions=versions, deltas=deltas))
    assert select() == 0
    page, _ = report_of_folder(desk.folder.path)
    assert [(one.text, one.categories) for one in page.pieces] == [("Say it", ("Inclusion",)), (". {{thing}}", ())]
    assert [(one.name, one.added, one.removed, one.moved) for one in page.versions] == [
        ("a1", ("Say it.",), (), 0),
        ("b2", (), ("Be brief.",), 1),
    ]
    counts = {
        (one.group, one.title): (one.versions, one.criteria, one.candidates, one.chosen) for one in page.categories
    }
    assert counts == {
        ("content", ""): (1, 1, 1, 1),
        ("content", "Quantity"): (1, 0, 0, 0),
        ("content", "Inclusion"): (1, 1, 1, 1),
    }


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
        (("figures", "curve"), [{"coverage": 0.5, "ffr": 0.5}] * 1000),
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


def test_a_choice_of_an_earlier_version_has_a_page_without_its_figures(desk: Desk) -> None:
    assert select() == 0
    whole = json.loads(desk.folder.selection.read_text(encoding="utf-8"))
    del whole["figures"]
    desk.folder.selection.write_text(json.dumps(whole), encoding="utf-8")
    page, _ = report_of_folder(desk.folder.path)
    assert page.answer == "The method cov chooses 1 of 6 candidates: 3 of 4 bad outputs caught, 0 of 4 good flagged."
    assert (page.shares, page.curve) == ((), None)


def test_a_folder_that_a_link_leads_elsewhere_is_left_alone(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    inner = desk.folder.path.parent / "checkout"
    inner.mkdir()
    (inner / "q.synthesis").symlink_to(desk.folder.path)
    before = sorted(desk.folder.path.iterdir())
    for command in ("select", "report"):
        assert run_cli([command, "checkout/q.synthesis"]) == 2
        assert "a link leads this folder out of the one that holds it" in capsys.readouterr().err
    assert sorted(desk.folder.path.iterdir()) == before


def test_the_prompts_name_leads_nowhere_else(desk: Desk) -> None:
    text = desk.folder.candidates.read_text(encoding="utf-8").replace("prompt: p.md", "prompt: ../secret.md")
    desk.folder.candidates.write_text(text, encoding="utf-8")
    (desk.folder.path.parent.parent / "secret.md").write_text("Secret words", encoding="utf-8")
    desk.folder.write_examples([one.replace(version="") for one in desk.folder.read_examples()])
    page, _ = report_of_folder(desk.folder.path)
    assert page.pieces == ()


def test_checks_are_shown_by_what_decides_them(desk: Desk) -> None:
    one = read_candidates(desk.folder.candidates).candidates[0].check
    assert check_text(one) == "one"
    assert check_text(one.replace(metric="m", weight=2)) == "one"
    assert json.loads(check_text(one.replace(threshold=0.5))) == {"value": "one", "threshold": 0.5}
