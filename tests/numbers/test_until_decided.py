"""A run that stops when it is decided: the report decides as the run did, from the folder, cut short, gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptpex import tables
from promptpex.core.records import Run
from promptpex.report import summarise
from tests.e2e.command import Done
from tests.e2e.faults import command
from tests.numbers.server import Place, answering
from tests.numbers.world import by, cases, first, ran, summed


@pytest.fixture
def here(place: Callable[[int], Place]) -> Place:
    return place(100)


def decided(run: Run) -> tables.Rankings:
    """What the tables say of a run by what its manifest says."""
    made = run.manifest.settings
    question = tables.RankingOptions(
        tolerance=made["tolerance"],
        confidence=made["confidence"],
        looks=run.manifest.looks,
        limit=made["decision_threshold"],
    )
    return tables.rankings(tables.outputs(run), run.manifest.models, question)


def asked_of(run: Run, model: str) -> int:
    return len({output.case for output in run.outputs if output.model == f"fake/{model}"})


def test_models_stop_when_they_are_settled_and_the_report_says_why(tmp_path: Path) -> None:
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if case % 2 else "kept", "c": first(0)})
    run = ran(tmp_path, ["a", "b", "c"], cases(200, 4), fates, aims=4, judge=False, until_decided=True)
    summary, rows = summed(run)
    assert [row["decision"] for row in rows.values()] == ["tied", "worse", "tied"]
    assert asked_of(run, "b") < asked_of(run, "a") == asked_of(run, "c") < 200
    ranking = decided(run)
    assert ranking.settled == {"fake/a", "fake/b", "fake/c"}
    assert {name: one.outcome for name, one in ranking.models.items()} == {
        f"fake/{name}": row["decision"] for name, row in rows.items()
    }
    assert {row["interval"] for row in rows.values()} == {"looks"}
    assert summary.saved is not None
    assert summary.saved.asked == len(run.outputs) == sum(asked_of(run, name) for name in "abc")


def test_the_tables_decide_at_every_look_as_the_run_did(tmp_path: Path) -> None:
    """Whoever is asked at a look was not settled by what was known at the looks before."""
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if case % 3 == 0 else "kept", "c": first(20)})
    run = ran(tmp_path, ["a", "b", "c"], cases(120, 4), fates, aims=4, judge=False, until_decided=True)
    known: set[str] = set()
    for look in run.manifest.looks:
        settled = (
            decided(run.replace(outputs=tuple(one for one in run.outputs if one.case in known))).settled
            if known
            else set()
        )
        asked = {one.model for one in run.outputs if one.case in set(look)}
        assert asked == set(run.manifest.models) - settled
        known |= set(look)


def test_a_limit_stops_each_model_on_its_own(tmp_path: Path) -> None:
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if case % 2 else "kept"})
    run = ran(
        tmp_path, ["a", "b"], cases(200, 4), fates, aims=4, judge=False, until_decided=True, decision_threshold=0.2
    )
    summary, rows = summed(run)
    assert [row["decision"] for row in rows.values()] == ["below limit", "above limit"]
    assert max(asked_of(run, "a"), asked_of(run, "b")) < 200
    assert summary.answer is not None
    assert "Clearly below the limit of 20%: fake/a" in summary.answer
    assert rows["a"]["ci_high"] <= 0.2 < rows["b"]["ci_low"]


def test_a_limit_is_not_passed_on_the_strength_of_what_is_missing(tmp_path: Path) -> None:
    fates = by({"a": lambda case, repeat: "cut" if case % 3 == 0 else "kept"})
    run = ran(tmp_path, ["a"], cases(100, 4), fates, aims=4, judge=False, until_decided=True, decision_threshold=0.2)
    _, rows = summed(run)
    assert (rows["a"]["decision"], asked_of(run, "a")) == ("undecided", 100)
    assert rows["a"]["undecided_because"] == "34 of 100 outputs of fake/a are unscored"


def test_a_judge_that_talks_nonsense_lets_nobody_stop_as_good(tmp_path: Path) -> None:
    fates = by({"a": first(100, fate="open"), "b": lambda case, repeat: "broken" if case % 2 else "open"})
    run = ran(tmp_path, ["a", "b"], cases(100, 4), fates, aims=4, until_decided=True)
    _, rows = summed(run)
    assert asked_of(run, "a") == 100
    assert not {row["decision"] for row in rows.values()} & {"best", "tied"}


def conclusions(done: Done) -> dict[str, Any]:
    report = json.loads(done.out)
    assert isinstance(report, dict)
    return {name: report[name] for name in ("answer", "models", "basis", "saved", "partial")}


async def test_report_from_the_folder_equals_the_report_of_the_run(here: Place) -> None:
    here.server.otherwise = answering({"b": 60})
    done, _ = await here.run("a,b", "--until-decided", judge="none")
    again = await command(["report", "--json"])
    assert (done.code, again.code) == (0, 0)
    assert conclusions(again) == conclusions(done)
    assert conclusions(done)["basis"] == "sequential"
    first_page = next(here.folder.glob("results/*/*/report.html")).read_bytes()
    await command(["report"])
    assert next(here.folder.glob("results/*/*/report.html")).read_bytes() == first_page


async def test_a_look_that_a_budget_cut_decides_nothing_and_is_gone_on_with(here: Place) -> None:
    here.server.otherwise = answering({"b": 60})
    cut, _ = await here.run("a,b", "--until-decided", "--max-requests", "33", judge="none")
    assert cut.code == 0
    assert conclusions(cut)["partial"] == "budget"
    report = await command(["report", "--json"])
    assert conclusions(report) == conclusions(cut)
    whole, _ = await here.run("a,b", "--until-decided", judge="none")
    assert conclusions(whole)["partial"] is None
    assert here.server.count < 200
    assert {row["model"]: row["decision"] for row in conclusions(whole)["models"]} == {
        "openai/a": "best",
        "openai/b": "worse",
    }


def test_what_a_cut_look_holds_is_in_the_shares_and_in_no_place(tmp_path: Path) -> None:
    """Budgets that end in each part of a look: the places are those of the looks before it."""
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if case % 2 else "kept"})
    for budget in (20, 28, 36):
        settings: Any = {"until_decided": True, "max_requests": budget, "concurrency": 1}
        run = ran(tmp_path / str(budget), ["a", "b"], cases(100, 4), fates, aims=4, judge=False, **settings)
        answered = [one for one in run.outputs if one.error is None]
        whole = [
            look
            for look in run.manifest.looks
            if all((case, model, 0) in {one.key for one in answered} for case in look for model in run.manifest.models)
        ]
        assert len(answered) == budget
        kept = {case for look in whole for case in look}
        before = decided(run.replace(outputs=tuple(one for one in answered if one.case in kept)))
        summary = summarise(run)
        assert {name: one.outcome for name, one in summary.rankings.models.items()} == {
            name: one.outcome for name, one in before.models.items()
        }
        assert summary.models["scored"].sum() == budget
