"""Real jobs across the seam: the checks of a session's run, and the cells of a run with a store that is shared."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

import pytest

from promptpex.config import load
from promptpex.core.errors import CheckError
from promptpex.core.records import Check, ModelName, Output, Rule, Spec, Verdict
from promptpex.engines import Engine, Job, LocalEngine, usable_cpus
from promptpex.engines.in_process import Item, Result
from promptpex.engines.processes import ProcessEngine
from promptpex.engines.ray_engine import RayEngine
from promptpex.llm.fake import FakeClient
from promptpex.store import SqliteStore
from promptpex.workflow.execution import run_records
from promptpex.workflow.execution.collect import cells
from promptpex.workflow.session import open_session
from tests.engines.jobs import Collecting
from tests.samples import prompt, spec, suite

MODELS = tuple(ModelName(name=name, label=name) for name in ("fake/RED", "fake/BLUE"))


async def collected(engine: Engine, folder: Path) -> list[Output]:
    job = Collecting(prompt(), {"store": str(folder / "store.db")}, folder)
    outputs = await engine.map(job, cells(suite().usable(), MODELS, repeats=6))
    return [output.replace(latency_ms=None) for output in outputs]


async def test_processes_collect_the_outputs_that_one_process_does(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    by_processes = await collected(ProcessEngine(2, chunk=3), there)
    assert by_processes == await collected(LocalEngine(), here)
    assert {output.text for output in by_processes} == {"RED", "BLUE"}
    async with SqliteStore(here / "store.db") as one, SqliteStore(there / "store.db") as other:
        assert {entry.id async for entry in one.entries()} == {entry.id async for entry in other.entries()}
        assert (await one.stats()).replies == len(by_processes)


class Watched:
    """An engine that says how many items it was given."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.items = 0

    async def map(self, job: Job[Item, Result], items: Iterable[Item]) -> list[Result]:
        listed = list(items)
        self.items += len(listed)
        return await self._engine.map(job, listed)

    def stream(self, job: Job[Item, Result], items: Iterable[Item]) -> AsyncGenerator[Result, None]:
        return self._engine.stream(job, items)


async def judged(engine: Engine, folder: Path, rules: Spec) -> tuple[Verdict, ...]:
    """The verdicts of a run of 600 outputs whose session has this engine."""
    settings = {
        "models": ["fake/RED", "fake/BLUE"],
        "repeats": 75,
        "judge": ["none"],
        "store": str(folder / "s.db"),
    }
    client = FakeClient(lambda request: "RED" if request.model == "fake/RED" else "dark blue")
    async with open_session(load(settings, start=folder, env={}), provider=client) as session:
        session.engine, session.many = engine, 0
        run = await run_records.execute(session, await run_records.begin(session, prompt(), rules, suite()))
    return run.verdicts


async def test_a_sessions_checks_run_on_its_engine_with_the_same_verdicts(tmp_path: Path) -> None:
    engines = [Watched(engine) for engine in (LocalEngine(), ProcessEngine(2))]
    by_engine = [await judged(engine, tmp_path, spec()) for engine in engines]
    assert by_engine[0] == by_engine[1]
    assert {verdict.status for verdict in by_engine[0] if verdict.source.startswith("check:")} == {"pass", "fail"}
    assert [engine.items for engine in engines] == [3, 3], "chunks of 256 outputs"


@pytest.mark.slow
async def test_a_sessions_checks_run_on_a_cluster_with_the_same_verdicts(ray: str, tmp_path: Path) -> None:
    assert await judged(RayEngine(ray), tmp_path, spec()) == await judged(LocalEngine(), tmp_path, spec())


async def test_few_checks_stay_in_the_process(tmp_path: Path) -> None:
    """Starting others would take longer than the checks."""
    async with open_session(load({"workers": 2, "store": str(tmp_path / "s.db")}, start=tmp_path, env={})) as session:
        assert isinstance(session.engine_for(session.many - 1), LocalEngine)
        assert session.engine_for(session.many) is session.engine
        assert isinstance(session.engine, LocalEngine) == (usable_cpus() == 1)


@pytest.mark.parametrize("engine", [LocalEngine(), ProcessEngine(2)], ids=["event loop", "processes"])
async def test_a_check_that_cannot_be_used_is_named_by_any_engine(engine: Engine, tmp_path: Path) -> None:
    rules = (Rule(id="r1", rule="One word.", checks=(Check(kind="regex", value="("),)),)
    with pytest.raises(CheckError, match="rule r1: "):
        await judged(engine, tmp_path, spec().replace(rules=rules))
