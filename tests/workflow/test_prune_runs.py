"""Deleting old runs: what goes, what stays, and that nothing else is touched."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from promptpex.codecs.files.file_lock import LockFile
from promptpex.core.records import Grade, Run
from promptpex.documents.human_grades import append_grades
from promptpex.report import blessed_figures_file, runs
from promptpex.workflow.prune_runs import PruneWishes, prunable, prune
from tests.samples import contents
from tests.tables.by_hand import colours

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four runs of colours, each a day older than the one after it, and one of letters that is a week old."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "colours.md").write_text("x", encoding="utf-8")
    for days, run in ((4, "r1"), (3, "r2"), (2, "r3"), (1, "r4")):
        keep(run, days)
    keep("l1", 7, prompt="letters")
    return tmp_path


def keep(run: str, days: int, *, prompt: str = "colours", name: str | None = None, text: str | None = None) -> Path:
    made: Run = colours()
    if text is not None:
        made = made.replace(outputs=(made.outputs[0].replace(text=text), *made.outputs[1:]))
    made = made.replace(
        manifest=made.manifest.replace(run=run, prompt=prompt, name=name),
        prompt=made.prompt.replace(path=f"{prompt}.md"),
    )
    folder = Path("results") / prompt / run
    runs.finish(folder, made)
    at = (NOW - timedelta(days=days)).timestamp()
    os.utime(folder / "manifest.json", (at, at))
    return folder


def going(wishes: PruneWishes) -> list[str]:
    return [one.folder.name for one in prunable(Path("results"), wishes, NOW) if one.goes]


def left() -> list[str]:
    return sorted(path.parent.name for path in Path("results").glob("*/*/manifest.json"))


@pytest.mark.parametrize(
    ("wishes", "gone"),
    [
        (PruneWishes(keep=1), ["r1", "r2", "r3"]),
        (PruneWishes(keep=0), ["l1", "r1", "r2", "r3", "r4"]),
        (PruneWishes(keep=3), ["r1"]),
        (PruneWishes(older_than=timedelta(days=2.5)), ["l1", "r1", "r2"]),
        (PruneWishes(older_than=timedelta(days=2.5), keep=3), ["r1"]),
        (PruneWishes(older_than=timedelta(days=2.5), prompt="letters"), ["l1"]),
        (PruneWishes(keep=0, prompt="nosuch"), []),
    ],
)
def test_what_matches_all_wishes_goes(project: Path, wishes: PruneWishes, gone: list[str]) -> None:
    assert going(wishes) == gone
    assert prune(Path("results"), prunable(Path("results"), wishes, NOW))[1] == []
    assert left() == sorted({"l1", "r1", "r2", "r3", "r4"} - set(gone))
    assert Path("results/letters").exists() == ("l1" not in gone)


def test_what_people_named_blessed_or_graded_stays_and_says_why(project: Path) -> None:
    keep("r1", 4, name="before")
    blessed = Path("results/colours/r2")
    blessed_figures_file.write(
        project / "colours.blessed.json", blessed_figures_file.bless(runs.read_for_report(blessed), blessed)
    )
    graded = keep("r3", 2, text="A text that no other run has.")
    first = runs.read(graded).suite.cases[0]
    append_grades(
        project / "colours.grades.jsonl",
        [
            Grade.of(
                inputs=first.inputs,
                output="A text that no other run has.",
                time="2026-11-20T00:00:00+00:00",
                grader="ada",
                case=first.id,
                model="a",
                value="good",
            )
        ],
    )
    old = prunable(Path("results"), PruneWishes(keep=0, prompt="colours"), NOW)
    assert {one.folder.name: (one.goes, one.reasons) for one in old} == {
        "r1": (False, ("named before",)),
        "r2": (False, ("blessed in colours.blessed.json",)),
        "r3": (False, ("graded in colours.grades.jsonl",)),
        "r4": (True, ()),
    }
    assert going(PruneWishes(keep=0, prompt="colours", protected=True)) == ["r1", "r2", "r3", "r4"]


def test_where_it_cannot_be_told_the_run_stays(project: Path) -> None:
    (project / "results" / "colours" / "r1" / "outputs.jsonl").write_text("{\n", encoding="utf-8")
    assert going(PruneWishes(keep=0, prompt="colours")) == ["r2", "r3", "r4"]
    (project / "colours.grades.jsonl").write_text("[1]\n", encoding="utf-8")
    assert going(PruneWishes(keep=0, prompt="colours")) == []
    (project / "colours.grades.jsonl").unlink()
    (project / "colours.blessed.json").write_text("{\n", encoding="utf-8")
    assert going(PruneWishes(keep=0, prompt="colours")) == []
    assert going(PruneWishes(keep=0, prompt="letters")) == ["l1"]


def test_nothing_outside_is_touched_and_no_link_followed(project: Path) -> None:
    elsewhere = project / "elsewhere"
    runs.finish(elsewhere / "far", colours())
    (elsewhere / "notes.txt").write_text("mine", encoding="utf-8")
    before = contents(elsewhere / "far")
    (project / "results" / "green").symlink_to(elsewhere)
    (project / "results" / "colours" / "far").symlink_to(elsewhere / "far")
    inside = project / "results" / "colours" / "r1"
    (inside / "link").symlink_to(elsewhere)
    (inside / "more").mkdir()
    (inside / "more" / "link").symlink_to(elsewhere / "notes.txt")
    prune(Path("results"), prunable(Path("results"), PruneWishes(keep=0, protected=True), NOW))
    assert left() == ["far", "far"]
    assert not inside.exists()
    assert contents(elsewhere / "far") == before
    assert (elsewhere / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_run_that_is_being_written_stays(project: Path) -> None:
    lock = LockFile.take(project / "results" / "colours" / ".r1.lock")
    assert lock is not None
    gone, busy = prune(Path("results"), prunable(Path("results"), PruneWishes(keep=3), NOW))
    assert (gone, [folder.name for folder in busy]) == ([], ["r1"])
    lock.release()
    gone, busy = prune(Path("results"), prunable(Path("results"), PruneWishes(keep=3), NOW))
    assert ([folder.name for folder in gone], busy) == (["r1"], [])
