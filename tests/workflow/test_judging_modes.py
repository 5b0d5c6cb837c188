"""Judging from one end to the other with scripted judges: rules or the whole prompt, several judges, none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest

import promptpex
from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.core.outcomes import outcome_of
from promptpex.core.records import Case, Check, Request, Rule, Run, Spec, Suite, VariableSpec
from promptpex.core.stage_templates import fingerprint
from promptpex.interchange import junit
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import parse
from promptpex.report import summarise, to_dict
from promptpex.report.html_page import html
from promptpex.report.terminal import notes
from promptpex.workflow.execution import early_stopping, run_records
from promptpex.workflow.session import open_session

SECRET = "Atlantis-7731"
ONE_WORD = Check(kind="word-count", value=1)


def prompt_spec_suite(decides: Literal["wholly", "partly"] = "wholly") -> tuple[Any, Spec, Suite]:
    prompt = parse("Name the capital of {{country}} in one word.", "p.md")
    rules = (
        Rule(
            id="r1",
            rule="One word.",
            inverse="Several words.",
            source="in one word",
            checks=(ONE_WORD,),
            decides=decides,
        ),
        Rule(id="r2", rule="A capital.", inverse="No capital.", source="the capital"),
    )
    spec = Spec(prompt="p.md", intent="Name a capital.", inputs={"country": VariableSpec()}, rules=rules)
    return prompt, spec, Suite(prompt="p.md", cases=(Case(id="c1", rule="r1", inputs={"country": SECRET}),))


class Voices:
    """Answers as the model under test or as a judge, and keeps what judges were shown."""

    def __init__(self, verdicts: dict[str, str], answer: str = "Poseidonis") -> None:
        self.verdicts = verdicts
        self.answer = answer
        self.shown: list[str] = []

    def __call__(self, request: Request) -> str:
        if request.model == "fake/m":
            return self.answer
        self.shown.append("\n".join(message.content for message in request.messages))
        if request.template == fingerprint("judging/prompt"):
            broken = [{"instruction": "one word", "evidence": "as it is"}]
            return json.dumps({"broken": broken if self.verdicts[request.model] == "fail" else []})
        verdict = {"reason": "as it is", "verdict": self.verdicts[request.model]}
        return json.dumps({"r2": verdict, "r1": verdict})


def judged(
    folder: Path,
    verdicts: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    decides: Literal["wholly", "partly"] = "wholly",
    answer: str = "Poseidonis",
    **settings: Any,
) -> tuple[Run, Voices]:
    monkeypatch.chdir(folder)
    voices = Voices(verdicts, answer)
    prompt, spec, suite = prompt_spec_suite(decides)
    judges = list(verdicts) or "none"
    run = promptpex.run(prompt, spec, suite, models=["fake/m"], judge=judges, client=FakeClient(voices), **settings)
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


@pytest.mark.parametrize("status", ["pass", "fail"])
def test_prompt_mode_gives_one_verdict_on_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    run, voices = judged(tmp_path, {"fake/j": status}, monkeypatch, judge_mode="prompt")
    assert counted(run) == {"r1": "pass", "prompt": status}
    assert "Name the capital of" in voices.shown[0]
    assert SECRET not in voices.shown[0]


def test_the_input_is_shown_only_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, voices = judged(tmp_path, {"fake/j": "pass"}, monkeypatch, judge_sees_input=True)
    assert SECRET in voices.shown[0]


def test_the_whole_prompt_is_judged_with_the_input_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, voices = judged(tmp_path, {"fake/j": "pass"}, monkeypatch, judge_mode="prompt", judge_sees_input=True)
    assert SECRET in voices.shown[0]


async def test_whoever_asks_for_confidence_is_warned_where_a_mode_has_none(tmp_path: Path) -> None:
    voices, events = Voices({"fake/j": "pass"}), list[Event]()
    prompt, spec, suite = prompt_spec_suite()
    asked = {"models": ["fake/m"], "judge": ["fake/j"], "judge_mode": "prompt", "judge_confidence": True}
    resolved = load({**asked, "store": str(tmp_path / "s.db")}, start=tmp_path, env={})
    async with open_session(resolved, provider=FakeClient(voices), emit=events.append) as session:
        run = await early_stopping.execute(session, await run_records.begin(session, prompt, spec, suite))
    assert [verdict.confidence for verdict in run.verdicts] == [None, None]
    assert any(isinstance(event, Notice) and "how sure the judge was" in event.message for event in events)


def test_one_of_three_judges_is_no_majority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    votes = {"fake/a": "pass", "fake/b": "unclear", "fake/c": "no word of ours"}
    run, _ = judged(tmp_path, votes, monkeypatch)
    (joint,) = (verdict for verdict in run.verdicts if verdict.counts and verdict.rule == "r2")
    assert (joint.status, joint.reason) == ("unscored", "1 of 3 judges pass it, 0 fail it")
    assert joint.unscored == "judge-unclear"
    run, _ = judged(tmp_path, {**votes, "fake/b": "pass"}, monkeypatch)
    assert counted(run)["r2"] == "pass"


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


NOBODY: dict[str, str] = {}


@pytest.mark.parametrize(
    ("judges", "mode", "also"),
    [(NOBODY, "rules", {}), (NOBODY, "prompt", {}), ({"fake/j": "pass"}, "prompt", {"prompt": "pass"})],
    ids=["none", "none whatever the mode", "the prompt whole"],
)
def test_a_rule_decided_in_part_is_not_kept_where_no_judge_is_asked_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judges: dict[str, str], mode: str, also: dict[str, str]
) -> None:
    run, _ = judged(tmp_path, judges, monkeypatch, decides="partly", judge_mode=mode)
    assert counted(run) == {"r1": "unscored", **also}
    assert outcome_of(run.verdicts).code == "no-judge"
    summary = summarise(run)
    assert (summary.gaps.unscored, summary.gaps.half_judged_rules) == ({"fake/m": {"no-judge": 1}}, ("r1",))
    assert to_dict(summary)["half_judged_rules"] == ["r1"]
    assert summary.gaps.unjudged_rules == (() if judges else ("r2",))
    assert "Judged in part: 1 of 2 rules (r1)" in "\n".join(notes(summary))
    page = " ".join(re.sub("<[^>]*>", "", html(summary)).split())
    assert "Judged in part: 1 of 2 rules (r1)" in page
    assert "judged in part: its checks" in page
    assert 'errors="1"' in junit.text(run)


def test_what_fails_the_checks_of_a_rule_decided_in_part_fails_it_without_a_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = judged(tmp_path, {}, monkeypatch, decides="partly", answer="Poseidonis it is")
    assert counted(run) == {"r1": "fail"}
    assert outcome_of(run.verdicts).status == "fail"
    assert summarise(run).gaps.half_judged_rules == ()


def test_a_judge_who_is_asked_completes_what_checks_decide_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = judged(tmp_path, {"fake/j": "pass"}, monkeypatch, decides="partly")
    counted = [(v.rule, v.source.partition(":")[0], v.status) for v in run.verdicts if v.counts]
    assert counted == [("r1", "check", "pass"), ("r1", "judge", "pass"), ("r2", "judge", "pass")]
    assert outcome_of(run.verdicts).status == "pass"
    assert summarise(run).gaps.half_judged_rules == ()


def test_a_failed_check_that_the_judge_contradicts_counts_as_broken_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = judged(tmp_path, {"fake/j": "pass"}, monkeypatch, decides="partly", answer="Poseidonis it is")
    assert outcome_of(run.verdicts).status == "fail"
    summary = summarise(run)
    assert summary.outputs["contradicted"].tolist() == [True]
    assert summary.answer is not None
    assert "1 of 1 failure of fake/m rests on a check that the judge contradicts" in summary.answer


def test_judging_what_code_decides_keeps_both_and_counts_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = judged(tmp_path, {"fake/j": "fail"}, monkeypatch, judge_all=True)
    assert counted(run) == {"r1": "pass", "r2": "fail"}
    assert ("r1", "judge:fake/j", "fail") in {(v.rule, v.source, v.status) for v in run.verdicts if not v.counts}
