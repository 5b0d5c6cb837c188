"""What every engine does, in the event loop and in processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from promptpex.core.errors import EngineError, SpecError
from promptpex.core.records import Output
from promptpex.engines import Engine, FunctionJob, LocalEngine, ProcessEngine
from tests.engines.jobs import Journal, die_at_forty, give_a_lambda, process_of, refuse_forty, words

ENGINES = {"event loop": LocalEngine(), "processes": ProcessEngine(2), "small chunks": ProcessEngine(2, chunk=1)}

every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())


@every_engine
async def test_a_function_is_applied_to_records_and_results_keep_their_order(engine: Engine) -> None:
    outputs = [Output(case=str(number), model="m", repeat=0, text="w " * number) for number in range(30)]
    assert await engine.map(FunctionJob(words), outputs) == list(range(30))
    assert await engine.map(FunctionJob(words), []) == []


@every_engine
async def test_a_job_opens_and_closes_what_it_needs_where_it_runs(engine: Engine, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert await engine.map(journal, range(50)) == [number * number for number in range(50)]
    assert [(lines[0], lines[-1]) for lines in journal.lines()] == [("opened", "closed")] * len(journal.lines())
    assert sorted(int(line) for lines in journal.lines() for line in lines[1:-1]) == list(range(50))


@every_engine
async def test_an_exception_of_the_job_arrives_as_it_is(engine: Engine) -> None:
    with pytest.raises(SpecError) as caught:
        await engine.map(FunctionJob(refuse_forty), range(100))
    assert str(caught.value) == "x.yaml:40: forty is refused"


@every_engine
async def test_cancelling_ends_what_runs(engine: Engine, tmp_path: Path) -> None:
    journal = Journal(tmp_path, seconds=60.0)
    running = asyncio.ensure_future(engine.map(journal, range(4)))
    await _until(lambda: any(len(lines) > 1 for lines in journal.lines()))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert {lines[-1] for lines in journal.lines()} == {"closed"}, "what was opened is closed"
    assert not any(_alive(process) for process in journal.processes() if process != os.getpid())


async def test_processes_share_the_work_and_are_gone_afterwards() -> None:
    used = set(await ProcessEngine(2, chunk=1).map(FunctionJob(process_of), range(200)))
    assert os.getpid() not in used
    assert not any(_alive(process) for process in used)


async def test_a_process_that_dies_is_named() -> None:
    with pytest.raises(EngineError, match="a worker process died"):
        await ProcessEngine(2, chunk=5).map(FunctionJob(die_at_forty), range(100))


async def test_what_cannot_be_pickled_is_named() -> None:
    jobs: list[FunctionJob[int, object]] = [FunctionJob(lambda number: number), FunctionJob(give_a_lambda)]
    for job in jobs:
        with pytest.raises(EngineError, match="cannot be pickled"):
            await ProcessEngine(1).map(job, [1])


PARENT = """
import asyncio, sys
from collections.abc import Callable
from pathlib import Path
from promptpex.engines import ProcessEngine
from tests.engines.jobs import Journal

if __name__ == "__main__":
    asyncio.run(ProcessEngine(2, chunk=1).map(Journal(Path(sys.argv[1]), seconds=60.0), range(4)))
"""


async def test_no_process_outlives_its_parent(tmp_path: Path) -> None:
    script, folder = tmp_path / "parent.py", tmp_path / "journal"
    script.write_text(PARENT)
    folder.mkdir()
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), str(folder)), env=path, stderr=subprocess.DEVNULL
    )
    journal = Journal(folder)
    await _until(lambda: len([lines for lines in journal.lines() if len(lines) > 1]) == 2)
    parent.kill()
    await parent.wait()
    await _until(lambda: not any(_alive(process) for process in journal.processes()))


async def _until(condition: Callable[[], bool]) -> None:
    while True:
        if condition():
            return
        await asyncio.sleep(0.01)


def _alive(process: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False
