"""Checks that the author proposes are held against what was judged before, and asked for again on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.core.records import Request, Rule
from promptpex.llm.fake import FakeClient
from promptpex.report import runs
from promptpex.specs.file import read_spec, write_spec
from promptpex.workflow.authoring import extract, update
from promptpex.workflow.pipeline import run
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from promptpex.workflow.specifying import evidence_of
from tests.workflow.test_pipeline import files, model, settings

CAPITALS = {"path": "", "kind": "regex", "value": "^[A-Z]+$"}
EXAMPLES = {"keeps": ["RED"], "keeps_only_this": [], "breaks": ["light red"], "after": ""}
PROPOSED = {"rules": [{"rule": "r1", **EXAMPLES, "checks": [CAPITALS], "decides": "wholly"}]}


def client(first_passes: bool) -> FakeClient:
    """The judge says that RED keeps the rule and ``light red`` breaks it, or the reverse."""

    def reply(request: Request) -> Any:
        if request.stage == "checks":
            return json.dumps(PROPOSED)
        answer = model(request)
        if request.stage == "judge" and not first_passes:
            verdict = answer["r1"]["verdict"]
            answer["r1"]["verdict"] = "fail" if verdict == "pass" else "pass"
        return answer if isinstance(answer, str | Exception) else json.dumps(answer)

    return FakeClient(reply)


async def do(folder: Path, job: Any, fake: FakeClient, heard: list[Event] | None = None, **flags: Any) -> Any:
    resolved = load(settings(folder, models=["fake/a"], **flags), start=folder, env={})
    async with open_session(resolved, provider=fake, emit=(heard if heard is not None else []).append) as session:
        return await job(session, files(folder))


@pytest.mark.parametrize("fits", [True, False])
async def test_checks_may_not_contradict_every_verdict_of_the_latest_run(tmp_path: Path, fits: bool) -> None:
    fake = client(first_passes=fits)
    await do(tmp_path, run, fake, checks=False)
    heard: list[Event] = []
    extracted = await do(tmp_path, extract, fake, heard, checks=True)
    assert bool(extracted.spec.rules[0].checks) == fits
    messages = [event.message for event in heard if isinstance(event, Notice)]
    assert any("contradicts all 3 verdicts so far" in message for message in messages) == (not fits)


async def test_an_unreadable_run_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    fake = client(first_passes=False)
    _, folder = await do(tmp_path, run, fake, checks=False)
    (folder / "verdicts.jsonl").write_text("{}\n", encoding="utf-8")
    heard: list[Event] = []
    extracted = await do(tmp_path, extract, fake, heard, checks=True)
    assert extracted.spec.rules[0].checks
    assert any("not compared with the latest run" in event.message for event in heard if isinstance(event, Notice))


async def test_update_proposes_for_rules_without_checks_when_asked_to(tmp_path: Path) -> None:
    fake = client(first_passes=True)
    await do(tmp_path, extract, fake, checks=False)
    asked = len(fake.requests)
    await do(tmp_path, update, fake)
    assert len(fake.requests) == asked
    done = await do(tmp_path, update, fake, checks=True)
    assert [check.kind for check in done.spec.rules[0].checks] == ["regex"]
    assert {request.stage for request in fake.requests[asked:]} == {"checks"}
    (kept,) = read_spec(files_of(tmp_path / "prompt.md").spec).rules
    assert (kept.checks, kept.decides, kept.origin) == (done.spec.rules[0].checks, "wholly", "extracted")


async def test_a_rule_whose_checks_a_person_took_out_is_left_alone(tmp_path: Path) -> None:
    fake = client(first_passes=True)
    await do(tmp_path, extract, fake, checks=True)
    path = files_of(tmp_path / "prompt.md").spec
    spec = read_spec(path)
    write_spec(
        path, spec.replace(rules=tuple(rule.replace(checks=(), origin="edited") for rule in spec.rules)), by_hand=True
    )
    asked = len(fake.requests)
    done = await do(tmp_path, update, fake, checks=True)
    assert done.spec.rules[0].checks == ()
    assert len(fake.requests) == asked


async def test_rules_are_known_by_their_words_and_not_by_their_ids(tmp_path: Path) -> None:
    made, folder = await do(tmp_path, run, client(first_passes=True), checks=False)
    rules = [Rule(id="r1", rule="The output rhymes."), Rule(id="r7", rule="the output is one  word")]
    evidence = evidence_of(rules, runs.read(folder))
    assert evidence.of("r1") == []
    assert [kept for _, kept in evidence.of("r7")] == [True, True, False]
    assert evidence_of(rules, None).of("r7") == []
    assert runs.latest_of(tmp_path / "results", made.prompt.name) == folder
    assert runs.latest_of(tmp_path / "results", "another") is None
