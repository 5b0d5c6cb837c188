"""What every engine does, in the event loop and in processes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from promptpex.core.errors import EngineError, SpecError
from promptpex.core.records import Output
from promptpex.engines import Engine, Job, LocalEngine, for_each, local_engine, run_all, usable_cpus
from promptpex.engines.processes import ProcessEngine
from promptpex.engines.ray_engine import RayEngine
from tests.engines.jobs import (
    BrokenSource,
    FunctionJob,
    Journal,
    Uncancellable,
    busy,
    die_at_forty,
    give_a_lambda,
    ignore_sigterm,
    kept,
    process_of,
    refuse_forty,
    until,
    words,
)

LARGEST_CHUNK = 7
MOST_HELD = 2 * 4 * LARGEST_CHUNK
"""Items of a stream: four chunks for each of two processes, and no more in the event loop."""

ENGINES: dict[str, Callable[[pytest.FixtureRequest], Engine]] = {
    "event loop": lambda _: LocalEngine(alive=16),
    "processes": lambda _: ProcessEngine(2),
    "large chunks": lambda _: ProcessEngine(2, chunk=LARGEST_CHUNK),
    "ray": lambda request: RayEngine(request.getfixturevalue("ray"), 2, chunk=LARGEST_CHUNK),
}


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param](request)


ON_RAY = (pytest.mark.slow, pytest.mark.ray)
engines_here = pytest.mark.parametrize("engine", [one for one in ENGINES if one != "ray"], indirect=True)
every_engine = pytest.mark.parametrize(
    "engine", [pytest.param(one, marks=ON_RAY if one == "ray" else ()) for one in ENGINES], indirect=True
)


@engines_here
async def test_a_function_is_applied_to_records_and_results_keep_their_order(engine: Engine) -> None:
    outputs = [Output(case=str(number), model="m", repeat=0, text="w " * number) for number in range(30)]
    assert await engine.map(FunctionJob(words), outputs) == list(range(30))
    assert await engine.map(FunctionJob(words), []) == []


@every_engine
async def test_a_job_opens_and_closes_what_it_needs_where_it_runs(engine: Engine, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert await engine.map(journal, range(50)) == [number * number for number in range(50)]
    assert [(lines[0], lines[-1]) for lines in journal.lines()] == [("opened", "closed")] * len(journal.lines())
    assert sorted(int(line) for lines in journal.lines() for line in lines if line.isdigit()) == list(range(50))
    assert await engine.map(journal, []) == []


@engines_here
async def test_an_exception_of_the_job_arrives_as_it_is(engine: Engine) -> None:
    with pytest.raises(SpecError) as caught:
        await engine.map(FunctionJob(refuse_forty), range(100))
    assert str(caught.value) == "x.yaml:40: forty is refused"


@every_engine
async def test_a_stream_gives_results_in_order_and_holds_a_bounded_number_of_items(engine: Engine) -> None:
    taken, given = 0, 0

    def without_end() -> Iterator[int]:
        nonlocal taken
        for number in itertools.count():
            taken += 1
            yield number

    async with aclosing(engine.stream(FunctionJob(abs), without_end())) as results:
        async for result in results:
            assert result == given
            given += 1
            assert taken - given <= MOST_HELD
            if given == 300:
                break
    nothing = engine.stream(FunctionJob(process_of), [])
    assert [result async for result in nothing] == []


@every_engine
async def test_errors_of_a_stream_come_in_their_turn(engine: Engine) -> None:
    sources: list[tuple[Iterable[int], int, str]] = [
        (range(100), 40, "x.yaml:40: forty is refused"),
        (BrokenSource(), 30, "x.yaml:30: thirty is refused"),
    ]
    for items, ended_by, message in sources:
        results: list[int] = []
        with pytest.raises(SpecError) as caught:
            await kept(engine.stream(FunctionJob(refuse_forty), items), results)
        assert str(caught.value) == message
        assert results == list(range(ended_by))[: len(results)]
        assert len(results) > ended_by - LARGEST_CHUNK


@engines_here
async def test_leaving_a_stream_early_closes_what_was_opened(engine: Engine, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    async with aclosing(engine.stream(journal, itertools.count())) as results:
        assert [await anext(results) for _ in range(20)] == [number * number for number in range(20)]
    assert {lines[-1] for lines in journal.lines()} == {"closed"}
    await until(lambda: not any(_alive(process) for process in journal.processes() if process != os.getpid()))


@engines_here
async def test_cancelling_ends_what_runs(engine: Engine, tmp_path: Path) -> None:
    journal = Journal(tmp_path, seconds=60.0)
    running = asyncio.ensure_future(engine.map(journal, range(4)))
    await until(lambda: any(len(lines) > 1 for lines in journal.lines()))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert {lines[-1] for lines in journal.lines() if lines} == {"closed"}, "what was opened is closed"
    await until(lambda: not any(_alive(process) for process in journal.processes() if process != os.getpid()))


async def test_a_process_that_dies_ends_a_stream_after_the_results_before_it() -> None:
    results: list[int] = []
    with pytest.raises(EngineError, match="a worker process died"):
        await kept(ProcessEngine(2, chunk=5).stream(FunctionJob(die_at_forty), itertools.count()), results)
    assert results == list(range(40))


async def test_a_busy_process_is_interrupted(tmp_path: Path) -> None:
    """Python that never waits, as checks do, has no turn of an event loop in which it could be cancelled."""
    running = asyncio.ensure_future(ProcessEngine(1).map(FunctionJob(busy), [tmp_path / "begun"]))
    await until((tmp_path / "begun").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (tmp_path / "begun").read_text() == "ended"


@pytest.mark.parametrize("job", [FunctionJob(ignore_sigterm), Uncancellable()], ids=["signal", "cancellation"])
async def test_a_process_that_does_not_end_is_killed(job: Job[Path, None], tmp_path: Path) -> None:
    running = asyncio.ensure_future(ProcessEngine(2, chunk=1, exit_s=0.1).map(job, [tmp_path, tmp_path]))
    journal = Journal(tmp_path)
    await until(lambda: len([lines for lines in journal.lines() if len(lines) > 1]) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not any(_alive(process) for process in journal.processes())


async def test_what_cannot_be_pickled_is_named() -> None:
    jobs: list[FunctionJob[int, object]] = [FunctionJob(lambda number: number), FunctionJob(give_a_lambda)]
    for job in jobs:
        with pytest.raises(EngineError, match="cannot be pickled"):
            await ProcessEngine(1).map(job, [1])


PARENT = """
import asyncio, sys
from collections.abc import Callable
from pathlib import Path
from promptpex.engines.processes import ProcessEngine
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
    await until(lambda: len([lines for lines in journal.lines() if len(lines) > 1]) == 2)
    parent.kill()
    await parent.wait()
    await until(lambda: not any(_alive(process) for process in journal.processes()))


def _alive(process: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system does not say which CPUs may be used")
def test_there_are_no_more_processes_than_cpus_to_run_on() -> None:
    allowed = os.sched_getaffinity(0)
    assert usable_cpus() == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_cpus() == 1
        assert isinstance(local_engine(4), LocalEngine)
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("alive", [1, 3, 40])
async def test_no_more_jobs_are_alive_than_allowed(alive: int) -> None:
    now, most = 0, 0

    async def job(number: int) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1

    await run_all(job, range(100), alive=alive)
    assert most == alive


@pytest.mark.parametrize("alive", [1, 3, 40])
async def test_jobs_are_begun_in_order_also_where_some_end_at_once(alive: int) -> None:
    """A budget that ends leaves the last items open, not those in the middle."""
    begun: list[int] = []

    async def job(number: int) -> None:
        begun.append(number)
        if number % 3:
            await asyncio.sleep(0)

    await run_all(job, range(100), alive=alive)
    assert begun == list(range(100))


async def test_the_first_exception_ends_the_others() -> None:
    ended: list[int] = []

    async def job(number: int) -> None:
        if number == 40:
            raise ValueError("forty")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(number)

    with pytest.raises(ValueError, match="forty"):
        await run_all(job, range(100))
    assert sorted(ended) == [number for number in range(100) if number != 40]


async def test_items_are_taken_when_they_are_begun_and_nothing_is_kept_of_them() -> None:
    taken, ended = 0, 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(200):
            assert number - ended <= 20
            taken += 1
            yield number

    async def job(number: int) -> None:
        nonlocal ended
        await asyncio.sleep(0)
        ended += 1

    await for_each(job, items(), alive=20)
    assert (taken, ended) == (200, 200)
