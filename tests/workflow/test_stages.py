"""The registry of stages: one record is all that a new stage adds to what surrounds it."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from promptpex.cli.commands.cache import command as cache
from promptpex.cli.progress import PlainLines
from promptpex.config import Settings, load
from promptpex.core import stage_templates
from promptpex.core.errors import ConfigError
from promptpex.core.events import StageEnded, StageStarted
from promptpex.core.records import Message, Prompt
from promptpex.llm.fake import FakeClient
from promptpex.store import open_store
from promptpex.workflow.estimate import EstimateLine, estimate
from promptpex.workflow.instructions import instructions_of
from promptpex.workflow.session import open_session
from promptpex.workflow.stages import Stage, beyond_prompt, find, names, register, stages, unregister
from promptpex.workflow.workload import Workload

ROOT = Path(__file__).resolve().parents[2]
TONE = Stage(
    name="tone",
    label="tone of voice",
    part="extract",
    role="author",
    requests=lambda work: 2 * work.rules,
    request_tokens=beyond_prompt(100),
    templates=("specs/tone",),
)
PROMPT = Prompt(
    name="p",
    messages=(Message(role="user", content="Say {{x}}."),),
    variables=("x",),
    fingerprint="f",
)
INSTRUCTED = PROMPT.replace(meta={"instructions": {"tone": "be kind"}})


@pytest.fixture
def tone() -> Iterator[Stage]:
    yield register(TONE)
    unregister(TONE.name)


async def estimated(folder: Path) -> dict[str, EstimateLine]:
    flags = {"author": "openai/gpt-4o", "models": "m", "judge": "none", "store": str(folder / "store.db")}
    async with open_session(load(flags, start=folder, env={}), provider=FakeClient(["x"])) as session:
        return {line.stage: line for line in await estimate(session, PROMPT, None, None)}


def test_its_instructions_are_read(tone: Stage) -> None:
    assert instructions_of(Settings(), INSTRUCTED) == {"tone": "be kind"}


def test_without_the_record_its_instructions_are_refused() -> None:
    with pytest.raises(ConfigError, match="no stage 'tone'"):
        instructions_of(Settings(), INSTRUCTED)


async def test_it_is_estimated_and_priced(tmp_path: Path, tone: Stage) -> None:
    line = (await estimated(tmp_path))["tone"]
    assert (line.calls, line.exact) == (16, False)
    assert line.tokens_in > 16 * 100
    assert line.cost_usd is not None
    assert line.cost_usd > 0


async def test_without_the_record_it_is_not_estimated(tmp_path: Path) -> None:
    assert "tone" not in await estimated(tmp_path)


def test_progress_shows_its_label(tone: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    hear = PlainLines()
    hear(StageStarted("tone", 1, "m"))
    hear(StageEnded("tone", "m"))
    assert capsys.readouterr().err.startswith("tone of voice  m  ")


async def made(path: Path) -> None:
    await (await open_store(str(path))).close()


def pruned(folder: Path, stage: str) -> tuple[int, str]:
    path = folder / "store.db"
    asyncio.run(made(path))
    done = CliRunner().invoke(cache, ["prune", "--stage", stage, "--store", str(path)])
    return done.exit_code, str(done.exception or "") + done.output


def test_its_replies_can_be_pruned(tmp_path: Path, tone: Stage) -> None:
    assert pruned(tmp_path, "tone") == (0, "0 replies pruned\n")


def test_replies_of_a_misspelt_stage_are_not_pruned(tmp_path: Path) -> None:
    code, output = pruned(tmp_path, "judg")
    assert code != 0
    assert "there is no stage 'judg'; did you mean 'judge'?" in output


async def test_expected_outputs_are_estimated_too(tmp_path: Path) -> None:
    flags = {"author": "a", "models": "m", "judge": "j,k", "expected": "ref", "store": str(tmp_path / "store.db")}
    async with open_session(load(flags, start=tmp_path, env={}), provider=FakeClient(["x"])) as session:
        lines = await estimate(session, PROMPT, None, None)
    lines = [line for line in lines if line.stage in ("reference", "expected")]
    assert [(line.stage, line.model) for line in lines] == [("reference", "ref"), ("expected", "j"), ("expected", "k")]
    assert len({line.calls for line in lines}) == 1


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
