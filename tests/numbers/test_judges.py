"""A judge that gives no usable verdicts makes no model good, and is named first where it failed on more than a few."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import promptpex
from promptpex.core.records import Completion, Request
from promptpex.report import summarise
from tests.e2e.faults import command
from tests.numbers.server import Place, answering
from tests.numbers.world import TASTE, Fate, World, by, cases, first, material, ran, simulated, summed

GOOD_WORDS = ("best", "tied", "good enough", "less than 5 percentage points", "better")


@pytest.fixture
def here(place: Callable[[int], Place]) -> Place:
    return place(50)


def no_model_is_called_good(answer: str) -> None:
    rest = answer.replace("these data do not show which model is best", "")
    assert not [word for word in GOOD_WORDS if word in rest], answer


async def test_a_judge_that_answers_nonsense_on_everything(here: Place) -> None:
    """The truth is a 0%, b 20%, c 60%; what stays scored are failures alone."""
    here.server.otherwise = answering({"b": 10, "c": 30}, lambda number: True)
    done, report = await here.run("a,b,c")
    assert done.code == 3
    assert "the judge openai/judge failed on all of its 150 requests" in done.err
    assert report["answer"].startswith("The judge openai/judge failed on 150 of 150 outputs (150 judge-malformed)")
    no_model_is_called_good(report["answer"])
    rows = {row["model"]: row for row in report["models"]}
    assert {row["decision"] for row in rows.values()} <= {"undecided", "unscored", "worse"}
    assert rows["openai/c"]["non_compliance"] == pytest.approx(0.6)
    assert rows["openai/b"]["non_compliance"] == pytest.approx(0.2)
    assert all(row["at_least"] and row["ci_high"] == 1.0 for row in (rows["openai/b"], rows["openai/c"]))
    assert not any(row["cheapest"] or row["fastest"] for row in rows.values() if row["decision"] == "worse")
    gate = await command(["gate", "--max-non-compliance", "90%"])
    assert gate.code == 1
    assert "pass" not in gate.out


async def test_the_printed_answer_begins_with_the_judge_s_failure(here: Place) -> None:
    here.server.otherwise = answering({"b": 10}, lambda number: True)
    await here.run("a,b")
    report = await command(["report"])
    assert report.code == 0
    answer = report.out.rpartition("\n\n")[2]
    assert " ".join(answer.split()).startswith("The judge openai/judge failed on 100 of 100 outputs")
    assert "--judge MODEL  # asks another judge" in report.out
    assert "≥20%" in report.out


async def test_one_model_alone_is_not_called_good_either(here: Place) -> None:
    here.server.otherwise = answering({"b": 10}, lambda number: True)
    done, report = await here.run("b")
    assert done.code == 3
    assert report["answer"].startswith("The judge openai/judge failed on 50 of 50 outputs")
    assert "at least 10 of 50 usable outputs (at least 20%" in report["answer"]
    no_model_is_called_good(report["answer"])


@pytest.mark.parametrize(("failed", "leads"), [(3, True), (2, False)], ids=["6%", "4%"])
async def test_a_judge_that_failed_on_a_few(here: Place, failed: int, leads: bool) -> None:
    here.server.otherwise = answering({"b": 20}, lambda number: number >= 50 - failed)
    done, report = await here.run("a,b")
    assert (done.code, done.err) == (0, "")
    start = f"The judge openai/judge failed on {2 * failed} of 100 outputs ({2 * failed} judge-malformed)"
    assert report["answer"].startswith(start) is leads
    assert report["answer"].count(" failed on ") == int(leads)
    # Of 50 outputs three at most could still break a rule: too few to bring a down to b.
    assert {row["model"]: row["decision"] for row in report["models"]} == {"openai/a": "best", "openai/b": "worse"}


def test_exactly_one_in_twenty_is_a_few() -> None:
    def begins(nonsense: int) -> str:
        fates = by({"a": first(nonsense, fate="open")})
        return (summed(simulated(["a"], cases(40, 4), fates, aims=4))[0].answer or "").partition(":")[0]

    assert " failed on " not in begins(2)
    assert "failed on 3 of 40 outputs" in begins(3)


def test_of_two_judges_the_failing_one_is_named_and_the_other_is_no_majority(tmp_path: Path) -> None:
    """One of two is not more than half."""
    prompt, spec, suite = material(cases(40, 4), 4, judge=True)
    world = World(suite, by({"a": first(0)}))

    def voices(request: Request) -> str | Completion | Exception:
        if request.model == "fake/judge-b":
            return "no"
        if request.model == "fake/judge-a":
            return json.dumps({TASTE: {"reason": "", "verdict": "pass"}})
        return world(request)

    client, store = promptpex.FakeClient(voices), str(tmp_path / "s.db")
    judges = ["fake/judge-a", "fake/judge-b"]
    run = promptpex.run(prompt, spec, suite, models=["fake/a"], judge=judges, client=client, store=store)
    summary = summarise(run)
    assert summary.answer is not None
    assert summary.answer.startswith("The judge fake/judge-b failed on 40 of 40 outputs")
    assert "fake/judge-a gave" not in summary.answer
    assert (summary.models["scored"].item(), summary.models["unscored"].item()) == (0, 40)


@pytest.mark.parametrize("fate", ["open", "cut"])
def test_nothing_scored_of_anybody_says_so(tmp_path: Path, fate: Fate) -> None:
    summary, rows = summed(
        ran(tmp_path, ["a", "b"], cases(30, 4), by({"a": first(30, fate=fate), "b": first(30, fate=fate)}))
    )
    assert summary.answer is not None
    assert "Nothing was scored, so no model can be assessed." in summary.answer
    assert {row["decision"] for row in rows.values()} == {"unscored"}
    no_model_is_called_good(summary.answer)
