"""The engines of this machine: its event loop, or processes."""

from __future__ import annotations

import os

from promptpex.engines.in_process import LocalEngine
from promptpex.engines.jobs import Engine
from promptpex.engines.open_engine import OpenEngine


def local_engine(workers: int) -> Engine:
    """The engine of so many processes on this machine, at most one per usable CPU: more would only take turns.

    Args:
        workers: from 1, which is the process that asks.

    Starting further ones takes 0.3 s each.
    """
    processes = min(workers, usable_cpus())
    if processes == 1:
        return LocalEngine()
    from promptpex.engines.processes import ProcessEngine  # its imports take 18 ms

    return ProcessEngine(processes)


def opened(workers: int | None, address: str | None) -> OpenEngine:
    """The engine of so many processes, by default one; see ``open_engine``."""
    return OpenEngine(local_engine(workers or 1))


def usable_cpus() -> int:
    """How many CPUs this process may run on; where the system does not say, how many there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
