"""Judging from one end to the other with scripted judges: rules or the whole prompt, several judges, none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex import api, pipeline
from promptpex.config import load
from promptpex.events import Event, Notice
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import parse
from promptpex.records import Case, Check, Request, Rule, Run, Spec, Suite, VariableSpec
from promptpex.session import open_session

SECRET = "Atlantis-7731"
ONE_WORD = Check(kind="word-count", value=1)


def prompt_spec_suite() -> tuple[Any, Spec, Suite]:
    prompt = parse("Name the capital of {{country}} in one word.", "p.md")
    rules = (
        Rule(id="r1", rule="One word.", inverse="Several words.", source="in one word", checks=(ONE_WORD,)),
        Rule(id="r2", rule="A capital.", inverse="No capital.", source="the capital"),
    )
    spec = Spec(prompt="p.md", intent="Name a capital.", inputs={"country": VariableSpec()}, rules=rules)
    return prompt, spec, Suite(prompt="p.md", cases=(Case(id="c1", rule="r1", inputs={"country": SECRET}),))


class Voices:
    """Answers as the model under test or as a judge, and keeps what judges were shown."""

    def __init__(self, verdicts: dict[str, str]) -> None:
        self.verdicts = verdicts
        self.shown: list[str] = []

    def __call__(self, request: Request) -> str:
        if request.model == "fake/m":
            return "Poseidonis"
        self.shown.append("\n".join(message.content for message in request.messages))
        said = {"reason": "as it is", "verdict": self.verdicts[request.model]}
        return json.dumps(said if said["verdict"] in ("OK", "ERR") else {"r2": said, "r1": said})


def judged(
    folder: Path, verdicts: dict[str, str], monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[Run, Voices]:
    monkeypatch.chdir(folder)
    voices = Voices(verdicts)
    prompt, spec, suite = prompt_spec_suite()
    judges = list(verdicts) or "none"
    run = api.run(prompt, spec, suite, models=["fake/m"], judge=judges, client=FakeClient(voices), **settings)
    return run, voices


def counted(run: Run) -> dict[str, str]:
    return {verdict.rule: verdict.status for verdict in run.verdicts if verdict.counts}


def test_rules_mode_asks_about_what_no_check_covers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, voices = judged(tmp_path, {"fake/j": "fail"}, monkeypatch)
    assert counted(run) == {"r1": "pass", "r2": "fail"}
    assert len(voices.shown) == 1
    assert "A capital." in voices.shown[0]
    assert "One word." not in voices.shown[0]
    assert SECRET not in voices.shown[0]


@pytest.mark.parametrize(("said", "status"), [("OK", "pass"), ("ERR", "fail")])
def test_prompt_mode_gives_one_verdict_on_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, status: str
) -> None:
    run, voices = judged(tmp_path, {"fake/j": said}, monkeypatch, judge_mode="prompt")
    assert counted(run) == {"r1": "pass", "prompt": status}
    assert "Name the capital of" in voices.shown[0]
    assert SECRET not in voices.shown[0]


def test_the_input_is_shown_only_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, voices = judged(tmp_path, {"fake/j": "pass"}, monkeypatch, judge_sees_input=True)
    assert SECRET in voices.shown[0]


async def test_the_whole_prompt_is_judged_without_the_input_and_whoever_asks_for_it_is_told(tmp_path: Path) -> None:
    voices, told = Voices({"fake/j": "OK"}), list[Event]()
    prompt, spec, suite = prompt_spec_suite()
    asked = {"models": ["fake/m"], "judge": ["fake/j"], "judge_mode": "prompt", "judge_sees_input": True}
    resolved = load({**asked, "store": str(tmp_path / "s.db")}, start=tmp_path, env={})
    async with open_session(resolved, provider=FakeClient(voices), emit=told.append) as session:
        await pipeline.execute(session, pipeline.begin(session, prompt, spec, suite))
    assert SECRET not in voices.shown[0]
    assert any(isinstance(event, Notice) and "never shows the input" in event.message for event in told)


@pytest.mark.parametrize(("quorum", "status"), [("majority", "pass"), ("unanimous", "fail")])
def test_several_judges_vote_and_each_vote_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quorum: str, status: str
) -> None:
    votes = {"fake/a": "pass", "fake/b": "fail", "fake/c": "pass"}
    run, voices = judged(tmp_path, votes, monkeypatch, quorum=quorum)
    assert counted(run) == {"r1": "pass", "r2": status}
    kept = [(v.source, v.status) for v in run.verdicts if v.rule == "r2" and not v.counts]
    assert kept == [(f"judge:{name}", vote) for name, vote in votes.items()]
    assert len(voices.shown) == 3


def test_no_judge_is_unscored_with_its_reason_and_asks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, voices = judged(tmp_path, {}, monkeypatch)
    open_ = next(verdict for verdict in run.verdicts if verdict.rule == "r2")
    assert (open_.status, open_.unscored, open_.counts) == ("unscored", "no-judge", False)
    assert counted(run) == {"r1": "pass"}
    assert voices.shown == []


def test_judging_what_code_decides_keeps_both_and_counts_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = judged(tmp_path, {"fake/j": "fail"}, monkeypatch, judge_all=True)
    assert counted(run) == {"r1": "pass", "r2": "fail"}
    assert ("r1", "judge:fake/j", "fail") in {(v.rule, v.source, v.status) for v in run.verdicts if not v.counts}
