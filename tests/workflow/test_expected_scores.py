"""Right answers in a run: by code first, by judges where a case asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.cases.file import write_suite
from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Request, Run, Suite
from promptpex.llm.fake import FakeClient
from promptpex.specs.file import write_spec
from promptpex.workflow.estimate import estimate
from promptpex.workflow.execution.run_records import begin, execute
from promptpex.workflow.execution.run_records import judge as judge_again
from promptpex.workflow.pipeline import run as run_files
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import Session, open_session
from promptpex.workflow.validation.validate import validate
from tests.samples import asked, prompt, spec, suite


def with_answers(*answers: str | None, **of_suite: Any) -> Suite:
    cases = [case.replace(expected=text) for case, text in zip(suite().cases, answers, strict=False)]
    return Suite(prompt="prompt.md", cases=tuple(cases), **of_suite)


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    return {"models": ["fake/m"], "judge": ["none"], "store": str(folder / "store.db"), **more}


def reply(request: Request) -> str:
    if request.stage == "match":
        return json.dumps({"differences": "a shade", "verdict": "same" if "scarlet" in asked(request) else "different"})
    if request.stage == "judge":
        return json.dumps({"r2": {"reason": "ok", "verdict": "pass"}})
    return "scarlet" if "t2" in asked(request) else "RED."


async def made(folder: Path, cases: Suite, client: FakeClient | None = None, **more: Any) -> Run:
    async with open_session(
        load(settings(folder, **more), start=folder, env={}), provider=client or FakeClient(reply)
    ) as session:
        return await execute(session, await begin(session, prompt(), spec(), cases))


def shown(run: Run) -> list[tuple[str, float | None, str | None, str]]:
    return [(one.case, one.value, one.unscored, one.source) for one in run.scores if one.counts]


async def test_outputs_of_cases_with_an_expected_output_get_a_score_by_code(tmp_path: Path) -> None:
    run = await made(tmp_path, with_answers("red", "red", None, "red"))
    assert shown(run) == [
        ("c1", 1.0, None, "match:normalised"),
        ("c2", 0.0, None, "match:normalised"),
        ("c4", 1.0, None, "match:normalised"),
    ]
    assert {one.name for one in run.scores} == {"expected"}


async def test_the_case_says_how_it_is_compared_then_the_settings_then_the_suite(tmp_path: Path) -> None:
    cases = with_answers("red", "red", "RED.", "red", match="exact")
    cases = cases.replace(cases=(cases.cases[0].replace(match="set"), *cases.cases[1:]))
    assert [one.source for one in (await made(tmp_path, cases)).scores] == ["match:set", *["match:exact"] * 3]
    chosen = await made(tmp_path, cases, match="normalised")
    assert [one.source for one in chosen.scores] == ["match:set", *["match:normalised"] * 3]
    assert chosen.manifest.run != (await made(tmp_path, cases)).manifest.run


async def test_further_right_outputs_count_as_well_and_cost_no_judge(tmp_path: Path) -> None:
    cases = with_answers("blue", "blue")
    several = [case.replace(also_right=("red", "scarlet") if case.expected else ()) for case in cases.cases]
    for match in ("normalised", "asked"):
        client = FakeClient(reply)
        run = await made(tmp_path, cases.replace(cases=tuple(several), match=match), client, judge=["fake/j"])
        assert shown(run) == [("c1", 1.0, None, "match:normalised"), ("c2", 1.0, None, "match:normalised")]
        assert "match" not in [request.stage for request in client.requests]
    with pytest.raises(ValueError, match="write the first under expected"):
        Case(id="c1", inputs={}, also_right=("red",))


async def test_an_output_without_an_answer_has_a_score_without_a_value(tmp_path: Path) -> None:
    run = await made(tmp_path, with_answers("red"), FakeClient(lambda request: ""))
    assert shown(run) == [("c1", None, "empty", "none")]


async def test_a_judge_compares_only_what_code_does_not_find_the_same(tmp_path: Path) -> None:
    client = FakeClient(reply)
    run = await made(tmp_path, with_answers("red", "red", "blue", match="asked"), client, judge=["fake/j"])
    assert shown(run) == [
        ("c1", 1.0, None, "match:normalised"),
        ("c2", 1.0, None, "judge:fake/j"),
        ("c3", 0.0, None, "judge:fake/j"),
    ]
    assert [request.stage for request in client.requests].count("match") == 2
    assert run.manifest.judges == ("fake/j",)


async def test_without_a_judge_or_without_a_majority_of_judges_the_output_is_unscored(tmp_path: Path) -> None:
    cases = with_answers(None, "red", match="asked")
    assert shown(await made(tmp_path, cases)) == [("c2", None, "no-judge", "none")]

    def divided(request: Request) -> str:
        if request.stage != "match":
            return reply(request)
        return json.dumps({"differences": "", "verdict": "same" if request.model == "fake/a" else "different"})

    both = await made(tmp_path, cases, FakeClient(divided), judge=["fake/a", "fake/b"])
    assert [(one.source, one.value, one.counts) for one in both.scores] == [
        ("judge:fake/a", 1.0, False),
        ("judge:fake/b", 0.0, False),
        ("judges:majority", None, True),
    ]
    assert both.scores[-1].unscored == "judges-tied"


async def test_the_same_command_again_asks_nothing_and_a_budget_leaves_the_rest_open(tmp_path: Path) -> None:
    cases = with_answers(None, "red", "blue", match="asked")
    cut = await made(tmp_path, cases, judge=["fake/j"], max_requests=6)
    assert cut.manifest.partial == "budget"
    assert [one.unscored for one in cut.scores].count("judge-budget") == 1
    whole = await made(tmp_path, cases, judge=["fake/j"])
    assert whole.manifest.partial is None
    client = FakeClient(reply)
    assert (await made(tmp_path, cases, client, judge=["fake/j"])).scores == whole.scores
    assert client.requests == []


async def test_judging_a_run_again_scores_it_again(tmp_path: Path) -> None:
    run = await made(tmp_path, with_answers("red", "red"))
    old = run.replace(scores=(), verdicts=())
    async with open_session(load(settings(tmp_path, match="exact"), start=tmp_path, env={})) as session:
        again = await judge_again(session, old)
    assert shown(again) == [("c1", 0.0, None, "match:exact"), ("c2", 0.0, None, "match:exact")]
    assert again.manifest.settings["match"] == "exact"


async def test_an_estimate_counts_what_judges_will_compare(tmp_path: Path) -> None:
    cases = with_answers("red", "red", "blue", match="asked")
    resolved = load(settings(tmp_path, judge=["fake/j"]), start=tmp_path, env={})

    async def lines(session: Session) -> dict[str, tuple[int, int]]:
        return {one.stage: (one.calls, one.stored) for one in await estimate(session, prompt(), spec(), cases)}

    async with open_session(resolved, provider=FakeClient(reply)) as session:
        assert (await lines(session))["match"] == (3, 0)
        await execute(session, await begin(session, prompt(), spec(), cases))
        assert (await lines(session))["match"] == (0, 2)


@pytest.mark.parametrize("wrong", ["fuzzy", "numeric:", "numeric:-1", ""])
def test_a_comparison_that_does_not_exist_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(Exception, match="there is no comparison"):
        load(settings(tmp_path, match=wrong), start=tmp_path, env={})
    with pytest.raises(ValueError, match="there is no comparison"):
        Case(id="c1", inputs={}, match=wrong)


def test_validate_names_expected_outputs_that_their_comparison_cannot_use(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Count {{thing}}.\n", encoding="utf-8")
    (tmp_path / "prompt.cases.yaml").write_text(
        "prompt: prompt.md\nmatch: numeric\ncases:\n"
        "  - {id: c1, inputs: {thing: a}, expected: 5, origin: added}\n"
        "  - {id: c2, inputs: {thing: b}, expected: none, origin: added}\n"
        "  - {id: c3, inputs: {thing: b}, expected: none, match: json, origin: added}\n"
        "  - {id: c4, inputs: {thing: b}, expected: none, match: asked, origin: added}\n",
        encoding="utf-8",
    )
    warnings = [one for one in validate([tmp_path / "prompt.cases.yaml"]) if one.severity == "warning"]
    assert [(one.line, one.message) for one in warnings] == [
        (5, "the case 'c2': the expected output \"none\" is not one number"),
        (6, "the case 'c3': the expected output \"none\" is not JSON"),
    ]


@pytest.mark.parametrize(
    ("match", "named"), [("json", "2 cases have an expected output that cannot be compared (c1, c2)"), (None, "")]
)
async def test_a_run_names_expected_outputs_that_their_comparison_cannot_use(
    tmp_path: Path, match: str | None, named: str
) -> None:
    (tmp_path / "prompt.md").write_text("Name the colour of {{thing}} in {{place}}.", encoding="utf-8")
    files = files_of(tmp_path / "prompt.md")
    write_spec(files.spec, spec())
    write_suite(files.suite, with_answers("red", "blue", None, '"RED."'))
    given = load(settings(tmp_path, results=str(tmp_path / "results"), match=match), start=tmp_path, env={})
    heard: list[Event] = []
    async with open_session(given, provider=FakeClient(reply), emit=heard.append) as session:
        await run_files(session, files)
    notices = [one.message for one in heard if isinstance(one, Notice) and "cannot be compared" in one.message]
    assert len(notices) == bool(match)
    assert all(one.startswith(named) and 'the expected output "red" is not JSON' in one for one in notices)
