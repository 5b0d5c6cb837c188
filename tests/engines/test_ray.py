"""What only a cluster does: workers that are lost, and clusters that cannot be reached."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from promptpex.core.errors import EngineError
from promptpex.engines import ray_engine
from promptpex.engines.ray_engine import RayEngine
from tests.engines.jobs import FunctionJob, Journal, die_at_forty, give_a_lambda, kept, until

ABSOLUTE: FunctionJob[int, int] = FunctionJob(abs)


@pytest.mark.slow
async def test_a_killed_workers_chunks_are_done_again(
    ray: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    journal, results = Journal(tmp_path, gated=True), list[int]()

    def working() -> list[int]:
        return [int(path.stem) for path in tmp_path.glob("*.txt") if len(path.read_text().split()) > 1]

    def kill() -> None:
        asyncio.run(until(lambda: len(working()) == 2))
        os.kill(working()[0], signal.SIGKILL)
        journal.let_go()

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    await kept(RayEngine(ray, 2, chunk=5).stream(journal, range(60)), results)
    killing.join()
    assert results == [number * number for number in range(60)]
    begun = [line for lines in journal.lines() for line in lines if line.isdigit()]
    assert len(begun) > len(set(begun)) == 60, "what the killed one was at was done again"
    assert capfd.readouterr().out == "", "nothing of it stands among results"


@pytest.mark.slow
async def test_what_kills_its_workers_is_given_up_after_the_results_before_it(
    ray: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "TRIES", 2)
    results: list[int] = []
    with pytest.raises(EngineError, match="a worker died 2 times on the same work"):
        await kept(RayEngine(ray, 1, chunk=20).stream(FunctionJob(die_at_forty), range(60)), results)
    assert results == list(range(40))


@pytest.mark.slow
async def test_cancelling_ends_what_runs(ray: str, tmp_path: Path) -> None:
    journal = Journal(tmp_path, seconds=600.0)
    running = asyncio.ensure_future(RayEngine(ray, 1).map(journal, range(4)))
    await until(lambda: any(len(lines) > 1 for lines in journal.lines()))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not any(Path(f"/proc/{process}/cmdline").exists() for process in journal.processes()))


@pytest.mark.slow
async def test_what_cannot_be_pickled_is_named(ray: str) -> None:
    jobs: list[FunctionJob[int, object]] = [FunctionJob(lambda number: number), FunctionJob(give_a_lambda)]
    for job in jobs:
        with pytest.raises(EngineError, match="cannot be pickled"):
            await RayEngine(ray, 1).map(job, range(3))


@pytest.mark.slow
async def test_a_connection_of_the_program_itself_is_used_and_left_as_it_is(ray: str) -> None:
    import ray as library

    engine = RayEngine("somewhere:1")
    assert await engine.map(ABSOLUTE, range(3)) == [0, 1, 2]
    engine.close()
    assert library.is_initialized()


@pytest.mark.slow
async def test_a_node_with_another_version_is_named(ray: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "version", lambda name: "9.9")
    with pytest.raises(
        EngineError, match=r"a node of the Ray cluster has promptpex .*; install promptpex 9\.9 on every"
    ):
        await RayEngine(ray).map(ABSOLUTE, range(3))


def test_an_address_where_nothing_answers_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(EngineError, match="no Ray cluster answers at 127"):
        ray_engine._require_server(f"127.0.0.1:{port}")
