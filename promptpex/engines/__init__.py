"""Engines: where jobs run. They know neither models nor stages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from promptpex.engines.in_process import Engine, Job, LocalEngine, as_they_come, for_each, run_all

__all__ = [
    "Engine",
    "Job",
    "LocalEngine",
    "as_they_come",
    "for_each",
    "local_engine",
    "open_engine",
    "run_all",
    "usable_cpus",
]

LOCAL, RAY = "local", "ray"


@contextmanager
def open_engine(name: str, *, workers: int | None, address: str | None) -> Iterator[Engine]:
    """The engine of this name; a cluster is connected to when it is first needed.

    Args:
        workers: how many work at most; None = one, or on a cluster one per CPU.
        address: where the cluster is; None = as ``RayEngine`` finds it.
    """
    if name == LOCAL:
        yield local_engine(workers or 1)
        return
    from promptpex.engines.ray_engine import RayEngine

    engine = RayEngine(address, workers)
    try:
        yield engine
    finally:
        engine.close()


def local_engine(workers: int) -> Engine:
    """The engine of so many processes on this machine, at most one per usable CPU: more would only take turns.


    Starting further ones takes 0.3 s each.
    """
    processes = min(workers, usable_cpus())
    if processes == 1:
        return LocalEngine()
    from promptpex.engines.processes import ProcessEngine  # its imports take 18 ms

    return ProcessEngine(processes)


def usable_cpus() -> int:
    """How many CPUs this process may run on; where the system does not say, how many there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
