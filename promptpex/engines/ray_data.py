"""A stream of items through Ray Data: one task takes them from their source, others do the job for them.

The source is read on the node of the command, which needs next to no CPU; what it gives goes in messages, each of
several items, to tasks that take a CPU of any node. Ray Data holds back the source and the tasks where results are not
taken, gives the results in order, and does again what was lost with a worker or a node. Messages are numbered and the
last says that it is: so what Ray Data gave up, or left out, is noticed where it is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import sys
import warnings
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from promptpex.core.chunks import in_groups
from promptpex.core.errors import EngineError
from promptpex.core.temporary_environment import environment_with
from promptpex.engines.chunked import died, pickled, portable
from promptpex.engines.in_process import run_all

MOST_ITEMS = 8
"""Items of a message: each costs Ray Data some 15 ms of CPU. The first have one, so that all workers soon have some."""
GROWN_AFTER = 16
"""Messages after which they have one item more."""
HARDLY_ANY_CPU = 0.001

_NO_USAGE = {"RAY_USAGE_STATS_ENABLED": "0"}
"""Ray Data looks at it at the start and at the end; else it starts a process that keeps what was done, for reports."""

_Row = dict[str, Any]
"""A message: its ``number``, from 0, and its ``data``, what is pickled in it."""


class Broken:
    """What comes in place of items or results: what was raised, or nothing more.

    Attributes:
        last: whether the source has said it, so that no message follows.
    """

    def __init__(self, error: Exception | None = None, *, last: bool = False) -> None:
        self.error = error
        self.last = last


def outcomes(source: bytes, job: bytes, *, workers: int | None, cpu: float, tries: int) -> Generator[list[Any]]:
    """The results of a pickled job for the items of a pickled source, some at a time; blocks while there are none.

    Ray has to be connected to. Whoever leaves early closes the generator, which ends what runs.

    Args:
        workers: tasks that do the job at a time; None = as many as there are CPUs.
        cpu: what each of them reserves.
        tries: workers that may be lost at a message.

    Raises:
        EngineError: a message was given up, or Ray Data cannot go on; after the results before it.
        Exception: of the source or of the job, in its turn.
    """
    given_count = 0
    with environment_with(_NO_USAGE), _quiet(), contextlib.closing(_streamed(source, job, workers, cpu, tries)) as rows:
        for row in rows:
            results = pickle.loads(row["data"])  # our own worker wrote it
            if row["number"] != given_count:
                break
            if isinstance(results, Broken):
                if results.last:
                    _let_end(rows)
                if results.error is not None:
                    raise results.error
                return
            yield results
            given_count += 1
    raise EngineError(died(tries))


def _let_end(rows: Iterator[_Row]) -> None:
    """Has Ray Data find that all is done. It would have the last tasks killed otherwise, as they end: the next stream
    would have to start their processes again, and Ray may take the process of the command with them."""
    with contextlib.suppress(EngineError):  # all that was wanted is here
        for _ in rows:
            pass


def _streamed(source: bytes, job: bytes, workers: int | None, cpu: float, tries: int) -> Generator[_Row]:
    import ray
    from ray import data

    own_node = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    try:
        with data.DataContext.current(_context()):
            compute = data.TaskPoolStrategy(size=workers)
            sources = data.from_items([{"number": 0, "data": source}], override_num_blocks=1)
            messages = sources.flat_map(
                partial(_messages, tries=tries), num_cpus=HARDLY_ANY_CPU, label_selector=own_node
            )
            results = messages.map(partial(_done, job=job, tries=tries), num_cpus=cpu, compute=compute)
            yield from results.iter_rows()
    except Exception as error:
        lines = str(error).strip().splitlines()
        why = lines[0] if lines else type(error).__name__
        raise EngineError(f"the Ray cluster cannot continue: {why}") from error


def _context() -> Any:
    """How Ray Data is to work here: in order, each message for itself, and without a word."""
    from ray.data import DataContext

    context = DataContext.get_current().copy()
    context.execution_options.preserve_order = True
    context.target_max_block_size = 1
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    return context


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps Ray Data from saying what it does and what it lost."""
    import ray.data  # it sets its own level

    logger = logging.getLogger(ray.data.__name__)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"ray\.data\.")
            yield
    finally:
        logger.setLevel(before)


def _messages(row: _Row, tries: int) -> Iterator[_Row]:
    """The items of a source as numbered messages; runs in a task."""
    number = -1
    try:
        _require_another_try(tries)
        source = pickle.loads(row["data"])  # our driver wrote it
        for number, items in enumerate(in_groups(source, _items_of)):
            yield _row(number, items)
        last = Broken(last=True)
    except Exception as error:
        last = Broken(portable(error), last=True)
    yield _row(number + 1, last)


def _items_of(message: int) -> int:
    return min(MOST_ITEMS, 1 + message // GROWN_AFTER)


def _row(number: int, content: object) -> _Row:
    return {"number": number, "data": pickled(content)}


def _done(row: _Row, job: bytes, tries: int) -> _Row:
    """What the job makes of a message, or what it raised; runs in a task."""
    items = pickle.loads(row["data"])  # our own task wrote it
    if isinstance(items, Broken):
        return row
    try:
        _require_another_try(tries)
        return _row(row["number"], _results(job, items))
    except Exception as error:  # it is raised again where the job was given
        return _row(row["number"], Broken(portable(error)))


def _require_another_try(tries: int) -> None:
    """Gives up what has ended so many workers, since it may be what they die of: Ray Data would go on for ever."""
    worker: Any = sys.modules["ray._private.worker"]
    if worker.global_worker.core_worker.get_current_task_attempt_number() >= tries:
        raise EngineError(died(tries))


@dataclass(frozen=True, slots=True)
class _Open:
    """A job that is open in this process, a worker's, until it is given another or ends."""

    job: bytes
    runner: asyncio.Runner
    place: AbstractAsyncContextManager[Callable[[Any], Awaitable[Any]]]
    worker: Callable[[Any], Awaitable[Any]]

    @classmethod
    def of(cls, job: bytes) -> _Open:
        runner, place = asyncio.Runner(), pickle.loads(job).open()  # our driver wrote it
        return cls(job, runner, place, runner.run(place.__aenter__()))

    def close(self) -> None:
        with self.runner:
            self.runner.run(self.place.__aexit__(None, None, None))


_open: list[_Open] = []
"""At most one: a worker does one message after the other, mostly for one job."""


def _results(job: bytes, items: Iterable[Any]) -> list[Any]:
    if not _open or _open[0].job != job:
        while _open:
            _open.pop().close()
        _open.append(_Open.of(job))
    return _open[0].runner.run(run_all(_open[0].worker, items))
