"""Graded outputs as examples for judges: of a part that never measures them, fenced, and named in the fingerprint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.core.ids import text_digest
from promptpex.core.records import KEY_LENGTH, Request, Run
from promptpex.core.stage_templates import fingerprint
from promptpex.judging.judge import Judge, Judging
from promptpex.judging.judge_mode import JudgeExample
from promptpex.llm.fake import FakeClient
from promptpex.report import runs
from promptpex.synthesis.examples import examples_of
from promptpex.workflow import pipeline
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from tests.e2e.command import in_process
from tests.samples import output, prompt, role_model, spec
from tests.workflow.alignment.graded_run import RULE, graded, is_rude, kept, made

REPLY = json.dumps({"r1": {"reason": "", "verdict": "pass"}})


async def judged_again(place: Path, folder: Path, **given: Any) -> tuple[Run, list[Request], list[str]]:
    """A run judged anew; the requests, and what the command said."""
    client, notices = FakeClient(lambda request: REPLY), list[str]()

    def listen(event: Event) -> None:
        if isinstance(event, Notice):
            notices.append(event.message)

    settings = {"judge": ["openai/judge"], "store": f"{len(given)}.db", "results": "results", **given}
    resolved = load(settings, start=folder, env={})
    async with open_session(resolved, provider=client, emit=listen) as session:
        await pipeline.judge(session, place)
    return runs.read(place), list(client.requests), notices


def graded_run(folder: Path, *, share: float = 1.0, policy: str = "highest") -> tuple[Run, Path]:
    run = made(folder, cases=60, models=("a",))
    place = kept(run, folder)
    graded(run, folder, share, subject="r1", policy=policy)
    return run, place


def text_of(request: Request) -> str:
    return request.messages[-1].content


async def test_judges_are_shown_bad_and_good_outputs_of_the_part_that_may_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run, place = graded_run(tmp_path)
    judged, requests, notices = await judged_again(place, tmp_path, judge_examples=4)
    assert "judges are shown 4 graded outputs on 1 rule of 1" in notices
    items = examples_of(run).examples
    shown = [one for one in items if all(f"\n{one.output}\n" in text_of(request) for request in requests)]
    assert [sum(is_rude(one.output) is bad for one in shown) for bad in (True, False)] == [2, 2]
    assert all(one.is_shown for one in shown)
    assert set(judged.manifest.shown) == {text_digest(one.output, KEY_LENGTH) for one in shown}
    assert 0 < sum(one.is_shown for one in items) < len(items) / 2
    assert {request.template for request in requests} == {fingerprint("judging/rules_with_examples")}
    parts = text_of(requests[0]).split("People found that this output")
    assert [is_rude(part.partition(">\n")[2]) for part in parts[1:]] == [True, True, False, False]


async def test_without_examples_requests_and_fingerprints_are_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, place = graded_run(tmp_path)
    plain, without, _ = await judged_again(place, tmp_path)
    with_examples, shown, _ = await judged_again(place, tmp_path, judge_examples=2)
    again, same, _ = await judged_again(place, tmp_path, judge_examples=2, repeats=1)
    assert {request.template for request in without} == {fingerprint("judging/rules")}
    assert not {request.id for request in without} & {request.id for request in shown}
    assert [request.id for request in shown] == [request.id for request in same]
    marks = [{one.fingerprint for one in run.verdicts} for run in (plain, with_examples, again)]
    assert marks[0] != marks[1] == marks[2]
    assert with_examples.manifest.settings["judge_examples"] == 2
    assert (len(with_examples.manifest.shown), plain.manifest.shown) == (2, ())


async def test_where_nothing_is_graded_that_may_be_shown_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = made(tmp_path, cases=40, models=("a",))
    place = kept(run, tmp_path)
    _, requests, notices = await judged_again(place, tmp_path, judge_examples=2)
    assert any(notice.startswith("judges are shown no graded outputs: ") for notice in notices)
    assert {request.template for request in requests} == {fingerprint("judging/rules")}
    *_, notices = await judged_again(place, tmp_path, judge_examples=2, judge_mode="prompt")
    assert "the judge mode 'prompt' shows the judge no graded outputs" in notices


async def test_long_outputs_are_no_examples_and_all_examples_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = made(tmp_path, cases=60, models=("a",))
    long = run.replace(outputs=tuple(one.replace(text=f"{one.text} {'x' * 2_000}") for one in run.outputs))
    place = kept(long, tmp_path)
    graded(long, tmp_path, 1.0, subject="r1")
    *_, notices = await judged_again(place, tmp_path, judge_examples=8)
    assert any(notice.startswith("judges are shown no graded outputs") for notice in notices)


async def test_a_run_shows_its_judges_outputs_of_earlier_runs_and_says_so_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    earlier, _ = graded_run(tmp_path)
    cases = "prompt: prompt.md\ncases:\n  - id: n1\n    rule: null\n    inputs: {question: why}\n    origin: added\n"
    (tmp_path / "prompt.cases.yaml").write_text(cases, encoding="utf-8")
    given = {"models": ["openai/a"], "judge": ["openai/judge"], "judge_examples": 2, "store": "s.db", "tolerance": 0.5}
    ids = []
    for _ in range(2):
        client = FakeClient(lambda request: REPLY if "judge" in request.model else "Because.")
        async with open_session(load(given, start=tmp_path, env={}), provider=client) as session:
            made, _ = await pipeline.run(session, files_of(Path("prompt.md")))
        ids.append((made.manifest.run, list(client.requests)))
    texts = [one.output for one in examples_of(earlier).examples if one.is_shown]
    (_, asked), (_, again) = ids
    assert ids[0][0] == ids[1][0]
    assert (len(asked), len(again)) == (2, 0)
    assert asked[1].template == fingerprint("judging/rules_with_examples")
    assert sum(f"\n{text}\n" in text_of(asked[1]) for text in texts) == 2


async def test_the_estimate_knows_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graded_run(tmp_path)
    cases = "prompt: prompt.md\ncases:\n  - id: c1\n    rule: null\n    inputs: {question: why}\n    origin: added\n"
    (tmp_path / "prompt.cases.yaml").write_text(cases, encoding="utf-8")
    tokens = {}
    for count in (0, 4):
        given = {"models": ["openai/a"], "judge": ["openai/judge"], "judge_examples": count, "results": "results"}
        async with open_session(
            load(given, start=tmp_path, env={}), provider=FakeClient(lambda request: "")
        ) as session:
            lines, _ = await pipeline.estimate_files(session, files_of(Path("prompt.md")))
        tokens[count] = next(line.tokens_in for line in lines if line.stage == "judge")
    assert tokens[4] > tokens[0] + 50


def test_more_examples_than_a_request_holds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Say {{x}}.", encoding="utf-8")
    done = in_process("judge", "--judge-examples", "9", cwd=tmp_path)
    assert done.code == 2
    assert "0<=x<=8" in done.err


def judge(*examples: JudgeExample) -> Judge:
    return Judge(role_model(lambda request: "")[0], prompt(), spec(), Judging(all_rules=True), examples)


def test_only_examples_of_the_rules_that_are_asked_about_are_shown_and_hashed() -> None:
    one = JudgeExample("r2", True, "INPUT", "OUTPUT", "REASON")
    other = JudgeExample("elsewhere", False, "INPUT", "OTHER")
    known = judge(one, other)
    (question,) = known.questions({"thing": "sky"})
    request = known.request(output(), question)
    assert "OTHER" not in text_of(request)
    assert "REASON" in text_of(request)
    assert "INPUT" not in text_of(request)
    assert known.fingerprint() == judge(one).fingerprint() != judge().fingerprint()
    assert judge(other).fingerprint() == judge().fingerprint()
    plain = judge()
    assert judge(other).request(output(), question).id == plain.request(output(), question).id


def test_inputs_of_examples_are_shown_where_the_judge_sees_inputs() -> None:
    example = JudgeExample("r1", False, "THEIRS", "OUTPUT")
    rule = RULE.replace(needs="input")
    one = Judge(role_model(lambda request: "")[0], prompt(), spec().replace(rules=(rule,)), Judging(), (example,))
    (question,) = one.questions({"thing": "sky"})
    assert "THEIRS" in text_of(one.request(output(), question))
