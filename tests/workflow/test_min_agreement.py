"""`--min-agreement` from a run to its report: what judges say that nobody has held against people does not count."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import promptpex
from promptpex.config import load
from promptpex.core.errors import ConfigError
from promptpex.core.events import Notice, ignore_events
from promptpex.core.records import UNTRUSTED, Run, Spec
from promptpex.documents.human_grades import read_grades
from promptpex.llm.fake import FakeClient
from promptpex.report import runs
from promptpex.specs.file import read_spec
from promptpex.workflow import pipeline
from promptpex.workflow.calibrating import calibrate
from promptpex.workflow.estimate import estimate
from promptpex.workflow.execution.reweighing import reweighed
from promptpex.workflow.grading_desk import GradingWishes, open_desk
from promptpex.workflow.session import open_session
from tests.e2e.command import in_process
from tests.judging.test_trust import calibration
from tests.workflow.alignment.graded_run import graded, kept, made
from tests.workflow.test_judging_modes import Voices, prompt_spec_suite


def judged(spec: Spec, **settings: Any) -> Run:
    prompt, _, suite = prompt_spec_suite()
    client = FakeClient(Voices({"fake/j": "fail"}))
    return promptpex.run(prompt, spec, suite, models=["fake/m"], judge=["fake/j"], client=client, **settings)


def calibrated(kappa: float) -> Spec:
    """The spec with a calibration of the judge that judges by it."""
    _, spec, _ = prompt_spec_suite()
    (mark,) = {verdict.fingerprint for verdict in judged(spec).verdicts if verdict.source == "judge:fake/j"}
    rule = spec.rules[1]
    known = calibration(rule, "fake/j", kappa, fingerprint=mark)
    return spec.replace(rules=(spec.rules[0], rule.replace(judge=(known,))))


def rows(run: Run) -> list[tuple[str, str, str | None, bool]]:
    return [(one.rule, one.status, one.unscored, one.counts) for one in run.verdicts if one.rule == "r2"]


def test_a_judge_counts_where_its_calibration_says_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spec = calibrated(0.6)
    assert rows(judged(spec, min_agreement=0.6)) == [("r2", "fail", None, True)]
    assert rows(judged(spec, min_agreement=0.61)) == [("r2", "fail", None, False), ("r2", "unscored", UNTRUSTED, True)]
    ids = [judged(spec, **given).manifest.run for given in ({}, {"min_agreement": 0.6})]
    assert ids[0] == judged(prompt_spec_suite()[1]).manifest.run != ids[1]


async def notices_of(spec: Spec, tmp_path: Path) -> list[str]:
    """What an estimate says of the judges of this spec."""
    prompt, _, suite = prompt_spec_suite()
    notices: list[str] = []
    given = {"models": ["fake/m"], "judge": ["fake/j"], "store": str(tmp_path / "s.db"), "min_agreement": 0.6}
    resolved = load(given, start=tmp_path, env={})
    listen = lambda event: notices.append(event.message) if isinstance(event, Notice) else None  # noqa: E731
    async with open_session(resolved, provider=FakeClient(lambda request: ""), emit=listen) as session:
        await estimate(session, prompt, spec, suite)
    return notices


async def test_a_run_and_an_estimate_say_which_rules_will_not_count(tmp_path: Path) -> None:
    notices = await notices_of(prompt_spec_suite()[1], tmp_path)
    assert any(
        message.startswith("fake/j will not count on 1 of 1 rule (r2): no valid calibration") for message in notices
    )


def test_a_judge_that_counts_by_one_persons_labels_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = calibrated(0.7)
    notice = "fake/j counts on 1 rule (r2) by a calibration on the labels of `--graders ada`"
    assert notice not in asyncio.run(notices_of(spec, tmp_path))
    rule = spec.rules[1]
    of_ada = rule.replace(judge=tuple(one.replace(graders="ada") for one in rule.judge))
    assert notice in asyncio.run(notices_of(spec.replace(rules=(spec.rules[0], of_ada)), tmp_path))


def test_a_judge_of_the_whole_prompt_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="--min-agreement is about single rules"):
        judged(prompt_spec_suite()[1], min_agreement=0.6, judge_mode="prompt")


def test_a_run_judged_by_rules_of_its_mode_is_not_weighed_again() -> None:
    run = judged(prompt_spec_suite()[1], judge_mode="prompt")
    with pytest.raises(ConfigError, match=", ".join(run.manifest.mode_rules)):
        reweighed(run, 0.6)


def calibrated_run(folder: Path) -> Path:
    run = made(folder, cases=60)
    place = kept(run, folder)
    graded(run, folder, 1.0, subject="r1")
    project = open_desk([place], folder / "results", GradingWishes(prompt=folder / "prompt.md"), ignore_events)
    calibrate(project, date(2026, 3, 1))
    return place


def test_a_report_weighs_again_by_the_calibrations_of_now(tmp_path: Path) -> None:
    place = calibrated_run(tmp_path)
    (one,) = read_spec(tmp_path / "prompt.spec.yaml").rules[0].judge
    assert one.kappa.estimate is not None
    below, above = (one.kappa.low + shift for shift in (-0.01, 0.01))
    files = {name: (place / name).read_bytes() for name in ("verdicts.jsonl", "manifest.json")}
    plain = json.loads(in_process("report", str(place), "--json", cwd=tmp_path).out)["models"]
    same = json.loads(in_process("report", str(place), "--json", f"--min-agreement={below}", cwd=tmp_path).out)
    assert same["models"] == plain
    done = in_process("report", str(place), f"--min-agreement={above:.4f}", cwd=tmp_path)
    assert done.code == 0
    text = " ".join(done.out.split())
    assert "Nothing was scored" in text
    assert f"Unscored: 120 {UNTRUSTED} (a 60, b 60)." in text
    assert f"{UNTRUSTED}: no judge is known to agree with people on r1 with a kappa of" in text
    assert {name: (place / name).read_bytes() for name in files} == files
    assert in_process("report", str(place), "--min-agreement=2", cwd=tmp_path).code == 2


async def test_judging_again_reads_the_calibrations_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = calibrated_run(tmp_path)
    assert read_grades(tmp_path / "prompt.grades.jsonl")
    given = {"judge": ["openai/judge"], "store": "s.db", "min_agreement": 0.2, "prices": {}}
    reply = json.dumps({"r1": {"reason": "", "verdict": "pass"}})
    async with open_session(load(given, start=tmp_path, env={}), provider=FakeClient(lambda request: reply)) as session:
        await pipeline.judge(session, place)
    run = runs.read(place)
    assert run.spec.rules[0].judge
    assert {one.unscored for one in run.verdicts if one.counts} == {UNTRUSTED}
    assert {one.counts for one in runs.read(place).verdicts if one.source == "judge:openai/judge"} == {False}
