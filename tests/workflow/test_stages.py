"""The registry of stages: one record is all that a new stage adds to what surrounds it."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from promptpex.cli.commands.cache import command as cache
from promptpex.cli.progress import PlainLines
from promptpex.config import Settings, load
from promptpex.core import stage_templates
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import Request, Suite
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import map_requests
from promptpex.llm.schemas import reply_schema
from promptpex.store import open_store
from promptpex.workflow.estimate import EstimateLine, estimate, number_of_cases
from promptpex.workflow.execution.run_records import begin, counted
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.session import Session, open_session
from promptpex.workflow.stages import find, names, register, stages, unregister
from promptpex.workflow.stages.run import PlannedRun
from promptpex.workflow.stages.stage import ModelRequests, Stage, Workload, beyond_prompt
from tests.samples import prompt, spec, suite

ROOT = Path(__file__).resolve().parents[2]
PROMPT = prompt().replace(meta={"instructions": {"tone": "be kind"}})
OUTPUTS = len(suite().usable())


class Tone(BaseModel):
    """The reply of the stage that is tried here."""

    tone: str


def tone_request(text: str) -> Rendered:
    return render("specs/intent", prompt=text, description="", instructions=instructions_of(Settings(), PROMPT)["tone"])


async def ask_for_tone(session: Session, texts: Sequence[str]) -> list[str | None]:
    """What a stage is: a function that asks in its name."""
    author = session.roles.author()

    async def ask(text: str) -> str | None:
        return (await author.ask(tone_request(text), Tone, stage="tone")).value.tone

    nothing: str | None = None
    return await map_requests("tone", author.label, texts, ask, session.emit, default=nothing)


TONE = Stage(
    name="tone",
    label="tone of voice",
    part="run",
    role="author",
    requests=lambda work: work.outputs,
    request_tokens=beyond_prompt(100),
    templates=("specs/intent",),
)


@pytest.fixture
def tone() -> Iterator[Stage]:
    yield register(TONE)
    unregister(TONE.name)


def reply(request: Request) -> str:
    return "RED" if request.stage == "output" else Tone(tone="kind").model_dump_json()


@asynccontextmanager
async def opened(folder: Path, client: FakeClient, emit: Listener = ignore_events) -> AsyncIterator[Session]:
    flags = {"author": "openai/gpt-4o", "models": "m", "judge": "none", "store": str(folder / "store.db")}
    async with open_session(load(flags, start=folder, env={}), provider=client, emit=emit) as session:
        yield session


async def estimated(folder: Path, a_suite: Suite | None = None) -> dict[str, EstimateLine]:
    async with opened(folder, FakeClient(reply)) as session:
        return {line.stage: line for line in await estimate(session, PROMPT, spec(), a_suite)}


async def test_one_record_is_enough_for_all_that_a_session_shows(
    tmp_path: Path, tone: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    client = FakeClient(reply)
    async with opened(tmp_path, client, PlainLines()) as session:
        begun = await begin(session, PROMPT, spec(), suite())
        assert await ask_for_tone(session, ["RED", "BLUE"]) == ["kind", "kind"]
        assert await ask_for_tone(session, ["RED", "GREEN"]) == ["kind", "kind"]
        held, manifest = await session.store.stats(), counted(session, begun.manifest)
    assert ["be kind" in str(request.messages) for request in client.requests] == [True] * 3
    assert re.findall(r"^tone of voice  openai/gpt-4o  2/2", capsys.readouterr().err, re.MULTILINE)
    assert held.stages == {"tone": 3}
    assert (manifest.asked, manifest.stored) == (3, 1)
    assert "specs/intent" in manifest.templates
    line = (await estimated(tmp_path, suite()))["tone"]
    assert (line.model, line.calls, line.stored, line.exact) == ("openai/gpt-4o", OUTPUTS, 0, False)


async def test_a_stage_that_knows_its_requests_is_looked_up_in_the_store(tmp_path: Path, tone: Stage) -> None:
    async def planned(run: PlannedRun) -> list[ModelRequests]:
        author = run.session.roles.author()
        requests = [
            author.request(tone_request(text), stage="tone").replace(reply_schema=reply_schema(Tone))
            for text in ("RED", "BLUE")
        ]
        return [ModelRequests(author.label, requests, await run.session.store.get_many(one.id for one in requests))]

    register(replace(tone, planned=planned))
    async with opened(tmp_path, FakeClient(reply)) as session:
        await ask_for_tone(session, ["RED"])
    line = (await estimated(tmp_path, suite()))["tone"]
    assert (line.calls, line.stored, line.exact) == (1, 1, True)


async def test_it_is_estimated_and_priced(tmp_path: Path, tone: Stage) -> None:
    async with opened(tmp_path, FakeClient(reply)) as session:
        cases = number_of_cases(session, PROMPT, spec(), None)
    line = (await estimated(tmp_path))["tone"]
    assert (line.calls, line.exact) == (cases, False)
    assert line.tokens_in > cases * 100
    assert line.cost_usd is not None
    assert line.cost_usd > 0


async def made(path: Path) -> None:
    await (await open_store(str(path))).close()


def pruned(folder: Path, stage: str) -> tuple[int, str]:
    path = folder / "store.db"
    asyncio.run(made(path))
    done = CliRunner().invoke(cache, ["prune", "--stage", stage, "--store", str(path)])
    return done.exit_code, str(done.exception or "") + done.output


def test_its_replies_can_be_pruned(tmp_path: Path, tone: Stage) -> None:
    assert pruned(tmp_path, "tone") == (0, "0 replies pruned\n")


def test_every_template_belongs_to_one_stage() -> None:
    used = [template for stage in stages() for template in stage.templates]
    assert sorted(used) == sorted(stage_templates.names())


def test_settings_of_stages_are_settings() -> None:
    assert {name for stage in stages() for name in stage.settings} <= set(Settings.model_fields)


ASSIGNED, STARTED = ("STAGE", "SCORE_STAGE", "INFER", "NOTES"), ("StageStarted", "StepDone", "map_requests")
ASKS = re.compile(rf"^\s*(?:{'|'.join(ASSIGNED)})\b|\b(?:{'|'.join(STARTED)})\(|\bstage=", re.MULTILINE)


def asked_in_code() -> set[str]:
    """The stage names that the code hands to requests and events."""
    stages_asked: set[str] = set()
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "promptpex").rglob("*.py"))
    for text in filter(ASKS.search, texts):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                given = [node.value] if node.targets[0].id in ASSIGNED else []
            elif isinstance(node, ast.Call):
                started = isinstance(node.func, ast.Name) and node.func.id in STARTED
                given = [word.value for word in node.keywords if word.arg == "stage"] + (
                    node.args[:1] if started else []
                )
            else:
                continue
            stages_asked |= {
                name.value for name in given if isinstance(name, ast.Constant) and isinstance(name.value, str)
            }
    return stages_asked


def test_every_stage_that_the_code_asks_in_is_registered() -> None:
    assert asked_in_code() == set(names())


def test_the_architecture_page_lists_the_stages() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = [
        f"| `{stage.name}` | {stage.part} | {stage.role} | {', '.join(f'`{name}`' for name in stage.templates)} |"
        for stage in stages()
    ]
    assert "\n".join(rows).replace("|  |", "| |") in page


@pytest.mark.parametrize(("rules", "requests"), [(1, 1), (10, 1), (11, 2), (20, 2), (21, 3)])
def test_checks_are_estimated_as_many_rules_to_a_request(rules: int, requests: int) -> None:
    checks = find("checks")
    work = Workload(settings=Settings(), prompt_tokens=500, rules=rules)
    assert checks.requests(work) == requests
    assert checks.request_tokens(work) > 1500
    assert 150 * rules <= checks.requests(work) * checks.answer_tokens(work) < 150 * rules + 10
