"""The order of asking: a run that ends early has asked, and judged, a fair sample of its suite."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import promptpex
from promptpex.config import load
from promptpex.core.records import Case, Prompt, Request, Rule, Run, Spec, Suite
from promptpex.llm.fake import FakeClient
from promptpex.workflow.execution.collect import cells
from promptpex.workflow.execution.order import cell_order, serial_server
from promptpex.workflow.session import open_session
from tests import samples

TARGETS = 8
PER_AIM = 5
JUDGES = ("fake/i", "fake/j")
RULES = tuple(Rule(id=f"r{n}", rule=f"rule {n}", inverse=f"broken {n}") for n in range(TARGETS // 2))
SPEC = Spec(prompt="p.md", intent="Answer.", rules=RULES)
CASES = tuple(
    Case(id=f"{rule.id}-{side}-{n}", rule=rule.id, inverse=side == "inverse", inputs={"thing": f"{rule.id} {side} {n}"})
    for rule in RULES
    for side in ("rule", "inverse")
    for n in range(PER_AIM)
)
SUITE = Suite(prompt="p.md", cases=CASES)
PROMPT: Prompt = samples.prompt(variables=("thing",))


def reply(request: Request) -> str:
    """Models answer, each output with a text of its own; a judge passes every rule."""
    if request.stage != "judge":
        return f"{request.model} {request.repeat} {samples.asked(request)}"
    return json.dumps({rule.id: {"reason": "fine", "verdict": "pass"} for rule in RULES})


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(client: FakeClient, **settings: Any) -> Run:
    given = {"models": ["fake/a", "fake/b"], "judge": "none", **settings}
    return promptpex.run(PROMPT, SPEC, SUITE, client=client, **given)


def per_aim(run: Run, model: str, *, reached: set[tuple[str, str, int]]) -> Counter[tuple[str | None, bool]]:
    """How many cases of each aim are among ``reached``, for one model."""
    aims = {case.id: (case.rule, case.inverse) for case in run.suite.cases}
    counts = Counter(dict.fromkeys(aims.values(), 0))
    counts.update(aims[case] for case, label, _ in reached if label == model)
    return counts


def test_a_budget_leaves_a_fair_sample_on_every_model() -> None:
    run = made(FakeClient(reply), max_requests=2 * 2 * TARGETS)
    answered = {output.key for output in run.outputs if output.error is None}
    assert len(answered) == 2 * 2 * TARGETS
    for model in ("fake/a", "fake/b"):
        assert set(per_aim(run, model, reached=answered).values()) == {2}
    assert {case for case, model, _ in answered if model == "fake/a"} == {
        case for case, model, _ in answered if model == "fake/b"
    }


def test_a_first_answer_to_every_case_comes_before_a_second() -> None:
    run = made(FakeClient(reply), repeats=2, max_requests=2 * len(CASES) + 6)
    answered = Counter(output.repeat for output in run.outputs if output.error is None)
    assert answered == {0: 2 * len(CASES), 1: 6}


def test_a_budget_that_ends_among_the_judges_leaves_a_fair_sample_judged() -> None:
    run = made(FakeClient(reply), judge="fake/j", judge_repeat=2, max_requests=2 * 2 * 2 * TARGETS)
    judged = {verdict.key for verdict in run.verdicts if verdict.status == "pass"}
    assert len(judged) == 2 * 2 * TARGETS
    for model in ("fake/a", "fake/b"):
        assert set(per_aim(run, model, reached=judged).values()) == {2}
    assert {verdict.turn for verdict in run.verdicts if verdict.status == "pass"} == {0}


def test_several_judges_take_turns_so_that_what_is_judged_is_judged_by_all() -> None:
    run = made(FakeClient(reply), judge=JUDGES, max_requests=3 * TARGETS)
    by = {name: {v.key for v in run.verdicts if v.source == f"judge:{name}" and v.status == "pass"} for name in JUDGES}
    assert by["fake/i"] == by["fake/j"]
    assert len(by["fake/i"]) == TARGETS


def test_outputs_and_verdicts_stay_in_the_order_of_the_suite_and_a_repetition_changes_nothing() -> None:
    first = made(FakeClient(reply), judge="fake/j", repeats=2, store="one.db")
    keys = [(case.id, model, repeat) for model in ("fake/a", "fake/b") for repeat in (0, 1) for case in CASES]
    assert [output.key for output in first.outputs] == keys
    assert list(dict.fromkeys(verdict.key for verdict in first.verdicts)) == keys
    again = made(FakeClient(reply), judge="fake/j", repeats=2, store="two.db")
    assert (again.outputs, again.verdicts) == (first.outputs, first.verdicts)


def test_the_seed_alone_decides_the_order() -> None:
    def asked(seed: int, store: str) -> list[str]:
        client = FakeClient(reply)
        made(client, seed=seed, store=store)
        return [request.messages[0].content + request.model for request in client.requests]

    assert asked(1, "one.db") == asked(1, "two.db")
    assert asked(1, "three.db") != asked(2, "four.db")


async def asked_in_order(folder: Path, models: list[str], **settings: Any) -> list[tuple[str, str]]:
    """The models and cases of all cells, in the order in which they are asked."""
    resolved = load({"models": models, "store": str(folder / "s.db"), **settings}, start=folder, env={})
    async with open_session(resolved, provider=FakeClient(reply)) as session:
        questions = cells(CASES, session.roles.models(), session.settings.repeats)
        order = cell_order(questions, CASES, session.settings.seed, serial_server)
    assert sorted(order) == list(range(len(questions)))
    return [(questions[number].model.label, questions[number].case.id) for number in order]


LOCAL = [["llama3.2:1b", "qwen3:4b"], ["embedded/smollm2-135m", "embedded/other.gguf"], ["ollama/x", "phi4:14b"]]


@pytest.mark.parametrize("local", LOCAL, ids=["ollama", "embedded", "by prefix"])
async def test_models_of_a_server_that_loads_one_at_a_time_come_one_after_the_other(
    tmp_path: Path, local: list[str]
) -> None:
    order = await asked_in_order(tmp_path, [local[0], "fake/a", local[1], "fake/b"], repeats=2)
    loaded = [model for model, _ in groupby(model for model, _ in order if model in local)]
    assert loaded == local
    for step in range(0, len(order), TARGETS):
        share = Counter(model in local for model, _ in order[: step + TARGETS])
        assert abs(share[True] - share[False]) <= 1, "both streams advance alike"


async def test_an_ollama_and_the_embedded_model_go_on_side_by_side(tmp_path: Path) -> None:
    """Two servers, and each has its one model: neither is ever loaded anew."""
    order = await asked_in_order(tmp_path, ["llama3.2:1b", "embedded/smollm2-135m"])
    assert [model for model, _ in order[:4]] == ["llama3.2:1b", "embedded/smollm2-135m"] * 2


async def test_models_of_one_local_address_are_not_interleaved_and_those_of_two_are(tmp_path: Path) -> None:
    bases = [f"http://127.0.0.1:{port}/v1" for port in (1, 2)]
    one = [f"openai/{name}?api_base={bases[0]}" for name in "ab"]
    order = await asked_in_order(tmp_path, one)
    assert len(list(groupby(model for model, _ in order))) == 2
    two = [f"openai/{name}?api_base={base}" for name, base in zip("ab", bases, strict=True)]
    order = await asked_in_order(tmp_path, two)
    assert [model for model, _ in order[:4]] == two * 2


async def test_hosted_models_are_asked_case_by_case_in_turn(tmp_path: Path) -> None:
    order = await asked_in_order(tmp_path, ["gpt-4o-mini", "fake/a", "fake/b"])
    for start in range(0, len(order), 3):
        three = order[start : start + 3]
        assert [model for model, _ in three] == ["gpt-4o-mini", "fake/a", "fake/b"]
        assert len({case for _, case in three}) == 1
