"""A new store that several processes open at the same moment."""

from __future__ import annotations

import multiprocessing
import multiprocessing.synchronize
from pathlib import Path

import pytest

from promptpex.store.sqlite.file import open_database

ROUNDS, PROCESSES = 12, 4


def opened(folder: Path, barrier: multiprocessing.synchronize.Barrier) -> None:
    """Opens a store a round, each at the moment at which the other processes do."""
    for number in range(ROUNDS):
        barrier.wait()
        open_database(folder / f"{number}.db", synchronous="normal", busy_timeout_s=30).close()


@pytest.mark.long
def test_each_process_gets_the_store(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES, timeout=300)
    processes = [context.Process(target=opened, args=(tmp_path, barrier)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
