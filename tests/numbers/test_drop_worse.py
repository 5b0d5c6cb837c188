"""A run that drops what is worse: the report decides as the run did, from the folder, cut short, gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptpex import tables
from promptpex.core.records import Run
from tests.e2e.command import Done
from tests.e2e.faults import command
from tests.numbers.server import Place, answering
from tests.numbers.world import by, cases, first, ran, summed


@pytest.fixture
def here(place: Callable[[int], Place]) -> Place:
    return place(100)


def asked_of(run: Run, model: str) -> int:
    return len({output.case for output in run.outputs if output.model == f"fake/{model}"})


def test_a_model_far_behind_is_asked_no_further_and_the_report_says_so(tmp_path: Path) -> None:
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if case % 2 else "kept", "c": first(0)})
    run = ran(tmp_path, ["a", "b", "c"], cases(200, 4), fates, aims=4, judge=False, drop_worse=True)
    summary, rows = summed(run)
    assert [row["decision"] for row in rows.values()] == ["tied", "worse", "tied"]
    assert (asked_of(run, "a"), asked_of(run, "b"), asked_of(run, "c")) == (200, 50, 200)
    assert [row["dropped_after"] for row in rows.values()] == [None, 50, None]
    assert "fake/b was not asked further: it was shown to be worse after 50 of 200 cases." in (summary.answer or "")
    assert summary.saved is not None
    assert (summary.saved.planned, summary.saved.spared) == (600, 150)


def test_who_is_asked_for_a_part_is_who_was_not_shown_to_be_worse_before(tmp_path: Path) -> None:
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if case % 3 == 0 else "kept", "c": first(20)})
    run = ran(tmp_path, ["a", "b", "c"], cases(120, 4), fates, aims=4, judge=False, drop_worse=True)
    known: set[str] = set()
    options = tables.RankingOptions(looks=run.manifest.looks)
    for part in run.manifest.looks:
        before = tables.outputs(run.replace(outputs=tuple(one for one in run.outputs if one.case in known)))
        worse = tables.worse_so_far(before, run.manifest.models, options) if known else set()
        asked = {one.model for one in run.outputs if one.case in set(part)}
        assert asked == set(run.manifest.models) - worse
        known |= set(part)


def test_a_judge_that_talks_nonsense_drops_nobody(tmp_path: Path) -> None:
    fates = by({"a": first(100, fate="open"), "b": lambda case, repeat: "broken" if case % 2 else "open"})
    run = ran(tmp_path, ["a", "b"], cases(100, 4), fates, aims=4, drop_worse=True)
    _, rows = summed(run)
    assert (asked_of(run, "a"), asked_of(run, "b")) == (100, 100)
    assert [row["decision"] for row in rows.values()] == ["unscored", "undecided"]


def conclusions(done: Done) -> dict[str, Any]:
    report = json.loads(done.out)
    assert isinstance(report, dict)
    return {name: report[name] for name in ("answer", "models", "saved", "partial")}


async def test_report_from_the_folder_equals_the_report_of_the_run(here: Place) -> None:
    here.server.otherwise = answering({"b": 60})
    done, _ = await here.run("a,b", "--drop-worse", judge="none")
    again = await command(["report", "--json"])
    assert (done.code, again.code) == (0, 0)
    assert conclusions(again) == conclusions(done)
    assert conclusions(done)["saved"]["spared"] > 0


async def test_a_part_that_a_budget_cut_drops_nobody_and_is_gone_on_with(here: Place) -> None:
    here.server.otherwise = answering({"b": 60})
    cut, _ = await here.run("a,b", "--drop-worse", "--max-requests", "33", judge="none")
    assert cut.code == 0
    assert conclusions(cut)["partial"] == "budget"
    assert {row["dropped_after"] for row in conclusions(cut)["models"]} == {None}
    whole, _ = await here.run("a,b", "--drop-worse", judge="none")
    assert conclusions(whole)["partial"] is None
    assert here.server.count < 200
    assert {row["model"]: row["decision"] for row in conclusions(whole)["models"]} == {
        "openai/a": "best",
        "openai/b": "worse",
    }
