"""The main job on files, with chosen replies behind the client seam."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from promptpex.config import load
from promptpex.core.errors import NotAuthorised, TimedOut
from promptpex.core.events import Event, Notice
from promptpex.core.records import Request, Run
from promptpex.llm.fake import FakeClient
from promptpex.report import runs, summarise
from promptpex.report.files import write
from promptpex.report.secondary_tables import footnotes
from promptpex.workflow.authoring import generate
from promptpex.workflow.generating import Wishes
from promptpex.workflow.pipeline import judge, run
from promptpex.workflow.project_files import Files, files_of
from promptpex.workflow.session import open_session
from tests.samples import asked, colour_author, contents, written_cases

PROMPT = "Name the colour of {{thing}} in one word.\n"


def author(request: Request) -> Any:
    if request.stage == "cases":
        return written_cases(request, lambda aim, n: {"thing": f"{'inv' if 'inverse' in aim else 'case'} {n}"})
    return colour_author(request)


def model(request: Request) -> Any:
    if request.stage == "judge":
        good = "RED" in asked(request)
        return {"r1": {"reason": "one word" if good else "two", "verdict": "pass" if good else "fail"}}
    if request.stage != "output":
        return author(request)
    if request.model == "fake/broken":
        return NotAuthorised("no key", model=request.model)
    if request.model == "fake/late" and "inv" in asked(request):
        return TimedOut("too late", model=request.model)
    return "RED" if "case" in asked(request) else "light red"


def client() -> FakeClient:
    def reply(request: Request) -> Any:
        answer = model(request)
        return answer if isinstance(answer, str | Exception) else json.dumps(answer)

    return FakeClient(reply)


def files(folder: Path) -> Files:
    (folder / "prompt.md").write_text(PROMPT, encoding="utf-8")
    return files_of(folder / "prompt.md")


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "models": ["fake/a", "fake/late", "fake/broken"],
        "author": "fake/author",
        "judge": ["fake/judge"],
        "store": str(folder / "store.db"),
        "results": str(folder / "results"),
        "max_attempts": 1,
        **more,
    }


async def execute(folder: Path, fake: FakeClient, events: list[Event] | None = None, **more: Any) -> tuple[Run, Path]:
    resolved = load(settings(folder, **more), start=folder, env={})
    emit = events.append if events is not None else (lambda event: None)
    async with open_session(resolved, provider=fake, emit=emit) as session:
        _, where = await run(session, files(folder))
        assert where is not None
    finished = runs.read(where)
    write(summarise(finished), where)
    return finished, where


async def test_the_main_job_makes_what_is_missing_and_judges_every_output(tmp_path: Path) -> None:
    finished, folder = await execute(tmp_path, client())
    assert [case.id for case in finished.suite.cases] == ["r1-1", "r1-2", "r1-inverse-1"]
    table = {row.model: row for row in summarise(finished).models.itertuples()}
    assert (table["fake/a"].scored, table["fake/a"].non_compliant) == (3, 1)
    assert (table["fake/late"].scored, table["fake/late"].unscored) == (2, 1)
    assert (table["fake/broken"].scored, table["fake/broken"].errors) == (0, 3)
    assert summarise(finished).gaps.unscored == {"fake/late": {"timed-out": 1}, "fake/broken": {"not-authorised": 3}}
    names = {path.name for path in folder.iterdir()}
    assert {"manifest.json", "outputs.jsonl", "verdicts.jsonl", "report.csv", "results.csv", "verdicts.csv"} <= names
    assert runs.read(folder) == finished


async def test_the_same_command_again_asks_nothing_and_changes_no_byte(tmp_path: Path) -> None:
    first, folder = await execute(tmp_path, client(), models=["fake/a"])
    before = contents(folder)
    again = client()
    second, same_folder = await execute(tmp_path, again, models=["fake/a"])
    assert again.requests == []
    assert same_folder == folder
    assert contents(folder) == before
    assert second == first.replace(manifest=first.manifest.replace(asked=0, stored=6))


async def test_only_what_failed_is_asked_again(tmp_path: Path) -> None:
    await execute(tmp_path, client())
    again = client()
    await execute(tmp_path, again)
    assert {request.model for request in again.requests} == {"fake/late", "fake/broken"}
    assert {request.stage for request in again.requests} == {"output"}


async def test_judging_again_asks_no_model_under_test(tmp_path: Path) -> None:
    _, folder = await execute(tmp_path, client(), models=["fake/a"])
    again = client()
    resolved = load(settings(tmp_path, judge=["fake/other"]), start=tmp_path, env={})
    async with open_session(resolved, provider=again) as session:
        manifest = await judge(session, folder)
    judged = runs.read(folder)
    assert judged.manifest == manifest
    assert {request.model for request in again.requests} == {"fake/other"}
    assert {verdict.source for verdict in judged.verdicts} == {"judge:fake/other"}
    assert judged.manifest.judges == ("fake/other",)


async def test_judging_in_another_mode_says_that_it_replaces_the_verdicts(tmp_path: Path) -> None:
    _, folder = await execute(tmp_path, client(), models=["fake/a"])

    async def notices_in(mode: str) -> list[str]:
        def reply(request: Request) -> str:
            return json.dumps({"broken": []} if mode == "prompt" else model(request))

        resolved = load(settings(tmp_path, judge_mode=mode), start=tmp_path, env={})
        events: list[Event] = []
        async with open_session(resolved, provider=FakeClient(reply), emit=events.append) as session:
            await judge(session, folder)
        return [event.message for event in events if isinstance(event, Notice) and "replaced" in event.message]

    (message,) = await notices_in("prompt")
    assert "--judge-mode rules brings them back" in message
    assert await notices_in("prompt") == []


async def test_a_rule_with_checks_needs_no_judge(tmp_path: Path) -> None:
    await execute(tmp_path, client(), models=["fake/a"])
    spec = tmp_path / "prompt.spec.yaml"
    text = spec.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.strip().startswith("source:"))
    indent = line[: len(line) - len(line.lstrip())]
    spec.write_text(text.replace(line, f"{line}\n{indent}checks: [{{kind: word-count, value: 1}}]"), encoding="utf-8")
    fake = client()
    finished, _ = await execute(tmp_path, fake, models=["fake/a"])
    assert {verdict.source for verdict in finished.verdicts} == {"check:word-count"}
    assert [request for request in fake.requests if request.stage == "judge"] == []
    assert summarise(finished).models["non_compliant"].tolist() == [1]


async def test_a_prompt_that_changed_is_noticed(tmp_path: Path) -> None:
    await execute(tmp_path, client(), models=["fake/a"])
    events: list[Event] = []
    resolved = load(settings(tmp_path, models=["fake/a"]), start=tmp_path, env={})
    async with open_session(resolved, provider=client(), emit=events.append) as session:
        (tmp_path / "prompt.md").write_text(PROMPT + "Be brief.\n", encoding="utf-8")
        await run(session, files_of(tmp_path / "prompt.md"))
    assert any(isinstance(event, Notice) and "has changed" in event.message for event in events)


async def test_generating_again_asks_only_for_what_is_stale(tmp_path: Path) -> None:
    await execute(tmp_path, client(), models=["fake/a"])
    fake = client()
    resolved = load(settings(tmp_path), start=tmp_path, env={})
    async with open_session(resolved, provider=fake) as session:
        made = await generate(session, files_of(tmp_path / "prompt.md"))
    assert made.plan.missing == 0
    assert fake.requests == []


async def test_an_author_who_fails_makes_nothing_and_the_notices_say_what_was_done(tmp_path: Path) -> None:
    first, _ = await execute(tmp_path, client(), models=["fake/a"])
    spec = tmp_path / "prompt.spec.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("rule: ", "rule: Always ", 1), encoding="utf-8")
    events: list[Event] = []
    resolved = load(settings(tmp_path), start=tmp_path, env={})
    async with open_session(resolved, provider=FakeClient(lambda request: "no"), emit=events.append) as session:
        made = await generate(session, files_of(tmp_path / "prompt.md"), Wishes(replace=True))
    assert made.plan.missing == 3
    assert (len(made.plan.keep), made.plan.retire) == (3, ())
    assert [case.id for case in made.suite.cases] == [case.id for case in first.suite.cases]
    messages = [event.message for event in events if isinstance(event, Notice)]
    assert "3 stale cases stay, since nothing replaced them" in messages
    assert "cases: 3 of 3 cases could not be made; run generate again with --fresh, or name another author" in messages


async def test_a_run_bears_the_date_of_the_answers_that_it_holds(tmp_path: Path) -> None:
    dates = iter(datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 30))

    async def dated(**more: Any) -> str:
        resolved = load(settings(tmp_path, models=["fake/a"], **more), start=tmp_path, env={})
        async with open_session(resolved, provider=client()) as session:
            session.clock = lambda: next(dates)
            made, folder = await run(session, files(tmp_path))
        assert folder is not None
        assert runs.read_manifest(folder) == made.manifest
        return made.manifest.created[:10]

    assert await dated() == "2026-01-01"
    assert await dated() == "2026-01-01"
    assert await dated(fresh=True) == "2026-01-03"
    assert await dated() == "2026-01-03"


async def test_answers_of_the_store_are_counted_and_fresh_asks_anew(tmp_path: Path) -> None:
    """A store in a checkout can hold anything: who reads the report learns where the answers come from."""
    first, _ = await execute(tmp_path, client(), models=["fake/a"])
    count = len(first.outputs) + sum(verdict.source.startswith("judge") for verdict in first.verdicts)
    paid = first.manifest.asked
    assert first.manifest.stored == count - paid < 2  # the same answer is judged once
    again, folder = await execute(tmp_path, fake := client(), models=["fake/a"])
    assert fake.requests == []
    assert (again.manifest.asked, again.manifest.stored) == (0, count)
    assert runs.read_manifest(folder).stored == count
    assert f"{count} of {count} answers came from the store" in " ".join(footnotes(summarise(again)))
    assert f"{count} of {count} answers came from the store" in (folder / "report.html").read_text(encoding="utf-8")
    fresh, _ = await execute(tmp_path, fake := client(), models=["fake/a"], fresh=True)
    assert len(fake.requests) == paid == fresh.manifest.asked
    assert fresh.manifest.run == first.manifest.run
