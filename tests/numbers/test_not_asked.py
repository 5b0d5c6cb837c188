"""What a budget, a deadline or a stop left unasked is neither failed nor excused: what was asked is a fair sample."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import promptpex
from promptpex import tables
from promptpex.core.errors import StoreFull
from promptpex.core.records import Request, Run, Spec, Suite
from promptpex.llm.fake import FakeClient
from promptpex.report import summarise
from promptpex.workflow.execution import run_records
from tests.llm.virtual_time import VirtualTimeLoop, session_of
from tests.numbers.server import Place, answering
from tests.numbers.world import (
    JUDGE,
    Fate,
    World,
    answer,
    by,
    cases,
    first,
    material,
    ran,
    rules,
    simulated,
    summed,
    table,
    verdict_on,
)
from tests.samples import asked

WARM = {"reason": "x", "score": 40}


@pytest.fixture
def here(place: Callable[[int], Place]) -> Place:
    return place(40)


def places(rows: Any) -> dict[str, str]:
    return {row["model"].rpartition("/")[2]: row["decision"] for row in rows}


async def test_a_model_that_the_budget_never_reached_keeps_the_others_from_being_best(here: Place) -> None:
    """This server loads one model at a time, so the budget is spent on two of the three."""
    here.server.otherwise = answering({"b": 30, "c": 30})
    done, report = await here.run("a,b,c", "--max-requests", "80", judge="none")
    assert (done.code, done.err) == (0, "")
    decisions = places(report["models"])
    (left,) = (name for name, place in decisions.items() if place == "unscored")
    assert sorted(decisions.values()) in (["undecided", "unscored", "worse"], ["undecided", "undecided", "unscored"])
    assert f"Not asked: openai/{left}." in report["answer"]
    assert f"Undecided because openai/{left} was not asked." in report["answer"]
    assert "best" not in report["answer"].replace("which model is best", "")


def test_nobody_is_best_beside_a_model_that_was_not_asked() -> None:
    fates = by({"a": first(0), "b": first(150), "c": first(200, fate="unasked")})
    summary, rows = summed(simulated(["a", "b", "c"], cases(200, 16), fates))
    assert [row["decision"] for row in rows.values()] == ["undecided", "worse", "unscored"]
    assert summary.answer is not None
    assert "Undecided because fake/c was not asked." in summary.answer
    assert "Not asked: fake/c." in summary.answer


async def test_a_dead_model_is_beaten_by_nobody(here: Place) -> None:
    here.server.otherwise = answering({"b": 30})
    for more, code in (((), 3), (("--allow-missing-models",), 0)):
        done, report = await here.run("a,b,dead", *more, judge="none")
        assert done.code == code
        assert ("not one usable answer came from openai/dead" in done.err) is (code == 3)
        assert places(report["models"]) == {"a": "undecided", "b": "worse", "dead": "unscored"}
        assert "No output of openai/dead was scored." in report["answer"]
        assert "40 of 40 outputs of openai/dead are unscored" in report["answer"]


async def test_models_alike_are_not_tied_beside_one_that_was_not_asked(here: Place) -> None:
    here.server.otherwise = answering({})
    _, report = await here.run("a,b,c", "--max-requests", "80", "--tolerance", "30%", judge="none")
    assert sorted(places(report["models"]).values()) == ["undecided", "undecided", "unscored"]
    _, report = await here.run("a,b", "--tolerance", "30%", judge="none")
    assert places(report["models"]) == {"a": "tied", "b": "tied"}


def test_a_budget_in_the_middle_compares_on_cases_asked_of_both_and_says_so(tmp_path: Path) -> None:
    fates = by({"a": first(0), "b": lambda case, repeat: "broken" if case % 2 else "kept"})
    run = ran(tmp_path, ["a", "b"], cases(200, 4), fates, aims=4, judge=False, max_requests=121, concurrency=1)
    summary, rows = summed(run)
    assert (rows["a"]["scored"], rows["b"]["scored"]) == (61, 60)
    assert (rows["a"]["not_asked"], rows["b"]["not_asked"]) == (139, 140)
    assert {name: row["decision"] for name, row in rows.items()} == {"a": "best", "b": "worse"}
    assert rows["b"]["difference"] == pytest.approx(rows["b"]["non_compliance"])
    assert summary.answer is not None
    assert "The run ended before 139 of 200 outputs of fake/a and 140 of 200 outputs of fake/b" in summary.answer
    assert re.search(r"models are compared on (the )?cases asked of both", summary.answer)
    assert (rows["a"]["worst_case"], rows["a"]["at_least"]) == (0.0, False)


def test_what_was_asked_of_one_model_alone_says_nothing_of_two() -> None:
    """b was asked of the hard cases alone. On these a breaks as many."""
    fates = by(
        {"a": first(40), "b": lambda case, repeat: "broken" if case < 40 else "kept" if case < 60 else "unasked"}
    )
    _, rows = summed(simulated(["a", "b"], cases(400, 8), fates, aims=8))
    assert (rows["a"]["non_compliance"], rows["b"]["non_compliance"]) == (pytest.approx(0.1), pytest.approx(2 / 3))
    assert not {row["decision"] for row in rows.values()} & {"best", "worse"}
    assert {row["difference"] for row in rows.values() if row["versus"]} == {0.0}


def test_a_failure_by_code_whose_judge_was_not_asked_is_no_scored_failure(tmp_path: Path) -> None:
    """Half of the cases break a check. A budget ends the run early: what is scored still breaks half, and answers have
    not used up what verdicts needed."""
    fates = by({"a": lambda case, repeat: "broken" if case // 4 % 2 else "kept"})
    run = ran(tmp_path, ["a"], cases(80, 4), fates, aims=4, max_requests=100, concurrency=1)
    _, rows = summed(run)
    row = rows["a"]
    assert (row["outputs"], row["scored"], row["not_asked"], row["usable"]) == (80, 50, 30, 50)
    assert abs(row["non_compliant"] - 25) <= 6
    assert row["non_compliance"] == row["best_case"] == row["worst_case"] == row["non_compliant"] / 50
    assert row["at_least"] is False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "budget"), [pytest.param(False, 25, marks=pytest.mark.long), (True, 50)], ids=["answering", "judging"]
)
def test_shares_of_runs_cut_short_are_right_on_average(tmp_path: Path, judge: bool, budget: int) -> None:
    """30% of 50 cases break a check. The budget ends in the middle of the answers, or of the judging."""
    shares = []
    for seed in range(10):
        broken = np.random.default_rng(seed).permutation(50) < 15
        fates = table({("a", case, 0): "broken" if broken[case] else "kept" for case in range(50)})
        settings: Any = {"max_requests": budget, "seed": seed, "concurrency": 1}
        run = ran(tmp_path / str(seed), ["a"], cases(50, 3), fates, aims=3, judge=judge, **settings)
        row = summed(run)[1]["a"]
        assert (row["scored"], row["not_asked"]) == (25, 25)
        shares.append(row["non_compliance"])
    # Four standard errors of the mean of 10 shares of 25 of 50 cases.
    assert np.mean(shares) == pytest.approx(0.3, abs=4 * 0.065 / 10**0.5)


def test_a_run_cut_short_is_no_beginning_of_the_suite(tmp_path: Path) -> None:
    """The first half of the suite breaks its rules, and the budget is for half of the cases."""
    run = ran(tmp_path, ["a"], cases(80, 4), by({"a": first(40)}), aims=4, judge=False, max_requests=40)
    row = summed(run)[1]["a"]
    assert (row["scored"], row["not_asked"]) == (40, 40)
    assert 10 <= row["non_compliant"] <= 30


@pytest.mark.parametrize("slow", ["answer", "verdict"])
def test_a_deadline_does_not_remove_the_failures_that_come_late(tmp_path: Path, slow: str) -> None:
    """What breaks a rule takes three times as long as the deadline; the rest no time at all."""
    suite, failing = cases(60, 3), {f"c{number}" for number in range(0, 60, 3)}

    async def late(request: Request) -> Any:
        case = re.findall(r"\bc\d+\b", asked(request))[-1]
        judges = request.stage == "judge"
        if case in failing and judges == (slow == "verdict"):
            await asyncio.sleep(3)
        fate: Fate = "kept" if case not in failing else "judged broken" if slow == "verdict" else "broken"
        return verdict_on(asked(request)) if judges else answer(fate, suite[int(case[1:])], f"about {case}")

    prompt, spec, made = material(suite, 3, judge=slow == "verdict")
    given: Any = {
        "judge": ["fake/judge" if slow == "verdict" else "none"],
        "concurrency": 8,
        "deadline": 1.0,
        "store": str(tmp_path / "s.db"),
    }
    run = promptpex.run(prompt, spec, made, models=["fake/a"], client=promptpex.FakeClient(late), **given)
    row = summed(run)[1]["a"]
    outcomes = tables.outputs(run)
    known = set(outcomes.loc[outcomes["verdict"].ne("unscored"), "case"])
    assert 0 < row["scored"] == len(known) < 60
    assert row["non_compliant"] == len(known & failing) > 0
    assert run.manifest.partial == "deadline"


def run_in_virtual_time(suite_size: int, reply: Callable[[World, Any, Request], Any], **given: Any) -> Run:
    """A run of cases that a judge decides; ``reply`` answers after 0.1 s."""
    prompt, spec, suite = material(cases(suite_size, suite_size // 20), suite_size // 20, judge=True)
    world = World(suite, by({model: first(0) for model in "abcd"}))

    async def made() -> Run:
        async def answered(request: Request) -> Any:
            text = reply(world, session.client, request)
            await asyncio.sleep(0.1)
            return text

        session = session_of(answered, **{"concurrency": 16, **given})
        return await run_records.execute(session, await run_records.begin(session, prompt, spec, suite))

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(made())


@pytest.mark.parametrize("models", ["a", "abcd"])
@pytest.mark.parametrize("way", ["stop", "budget"])
def test_a_run_that_ends_at_two_thirds_has_two_thirds_of_its_answers_scored(way: str, models: str) -> None:
    """The models and the judge share one server."""
    sent, most = 0, 80 * len(models)

    def reply(world: World, client: Any, request: Request) -> Any:
        nonlocal sent
        sent += 1
        if way == "stop" and sent == most:
            client.cancel()
        return world(request)

    given: dict[str, Any] = {"models": [f"fake/{model}" for model in models], "judge": ["fake/judge"]}
    run = run_in_virtual_time(60, reply, **given, **({"max_requests": most} if way == "budget" else {}))
    rows = summed(run)[1].values()
    scored = sum(row["scored"] for row in rows)
    assert scored + sum(row["not_asked"] for row in rows) == 60 * len(models)
    assert scored >= {"budget": 40, "stop": 30 if models == "a" else 36}[way] * len(models)
    assert run.manifest.partial == ("budget" if way == "budget" else "interrupted")


HERE = "?api_base=http://127.0.0.1:9/v1"
"""A server of one model at a time."""


def test_a_server_that_loads_one_model_at_a_time_changes_over_for_each_quarter_of_the_suite() -> None:
    stages: list[str] = []

    def reply(world: World, client: Any, request: Request) -> Any:
        stages.append(request.stage)
        return world(request.replace(model=request.model.replace("openai/", "fake/")))

    run = run_in_virtual_time(80, reply, models=[f"openai/a{HERE}"], judge=[f"openai/judge{HERE}"])
    assert (stages.count("output"), stages.count("judge")) == (80, 80)
    assert 3 <= sum(before != after for before, after in itertools.pairwise(stages)) <= 8, stages
    assert stages[:60].count("judge") >= 20
    assert not any(output.error for output in run.outputs)


@pytest.mark.parametrize("server", ["fake/a fake/judge", f"openai/a{HERE} openai/judge{HERE}"])
def test_what_ends_the_judging_ends_the_answers_that_wait_for_it(server: str) -> None:
    model, judge = server.split()

    def reply(world: World, client: Any, request: Request) -> Any:
        if request.stage == "judge":
            raise StoreFull("no room left")
        return world(request.replace(model="fake/a"))

    with pytest.raises(StoreFull, match="no room left"):
        run_in_virtual_time(200, reply, models=[model], judge=[judge], concurrency=4)


def test_a_deadline_is_a_limit_like_a_budget() -> None:
    fates = by({"a": first(30, fate="unasked"), "b": first(30, fate="unasked", else_="broken")})
    summary, rows = summed(simulated(["a", "b"], cases(60, 4), fates, aims=4))
    assert [row["decision"] for row in rows.values()] == ["best", "worse"]
    assert summary.answer is not None
    assert re.search(r"The run ended before 30 of 60 outputs of fake/a and 30 of 60 outputs of fake/b", summary.answer)


@pytest.mark.parametrize("scored_by", ["expected", "metric"])
def test_scores_of_a_run_that_is_cut_are_those_of_a_fair_part_of_it(tmp_path: Path, scored_by: str) -> None:
    """Half of the outputs are right word for word, and the judge says of the others that they are wrong: the budget
    ends before it has said so of all. So it does before the judge has scored all outputs by a metric."""
    (tmp_path / "prompt.md").write_text("Say {{thing}}.", encoding="utf-8")
    if scored_by == "metric":
        (tmp_path / "warm.metric.md").write_text("---\nscale: 0-100\n---\nWarm? {{output}}\n", encoding="utf-8")
    prompt = promptpex.read_prompt(tmp_path / "prompt.md")
    expected = {"expected": "right", "match": "asked"} if scored_by == "expected" else {}
    suite = Suite(prompt="prompt.md", cases=tuple(one.replace(**expected) for one in cases(40, 1)))

    def reply(request: Request) -> str:
        if request.stage == "output":
            number = int(re.findall(r"<c(\d+)>", asked(request))[0])
            return "right" if number < 20 and expected else f"wrong {number} {request.model}"
        return json.dumps({"differences": "", "verdict": "different"} if request.stage == "match" else WARM)

    budget = {"expected": 90, "metric": 110}[scored_by]
    spec, named = Spec(prompt="prompt.md", rules=rules(1, judged=False)), {"judge": JUDGE, "max_requests": budget}
    run = promptpex.run(prompt, spec, suite, models="fake/a,fake/b", client=FakeClient(reply), **named)  # type: ignore[arg-type]
    summary, rows = summed(run)
    assert summary.answer is not None
    if scored_by == "expected":
        assert "were compared with expected ones." in summary.answer
        assert all(4 <= row["accuracy_scored"] <= 36 for row in rows.values())
        assert all(0.2 <= row["accuracy"] <= 0.8 for row in rows.values())
        assert len({row["accuracy_scored"] for row in rows.values()}) <= 2
    else:
        assert re.search(r"The run ended before .* and .* were scored by warm\.", summary.answer)
        assert [row["scored"] for row in tables.records(summary.metrics)] == [pytest.approx(15, abs=5)] * 2
    by_judge = summarise(run, rank_by="accuracy" if scored_by == "expected" else "warm").answer
    assert ", by this judge" in str(by_judge)
