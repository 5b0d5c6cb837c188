"""A real job across the seam: the cells of a run are collected in processes that share the response store."""

from __future__ import annotations

from pathlib import Path

from promptpex.core.records import ModelName, Output
from promptpex.engines import Engine, LocalEngine, ProcessEngine
from promptpex.store import SqliteStore
from promptpex.workflow.collect import cells
from tests.engines.jobs import Collecting
from tests.samples import prompt, suite

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
