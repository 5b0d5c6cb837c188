"""Engines: where jobs run. They know neither models nor stages."""

from __future__ import annotations

from promptpex.engines.in_process import LocalEngine, run_all
from promptpex.engines.jobs import Engine, FunctionJob, Job
from promptpex.engines.synchronous import as_they_come

__all__ = ["Engine", "FunctionJob", "Job", "LocalEngine", "as_they_come", "local_engine", "run_all"]


def local_engine(workers: int) -> Engine:
    """The engine of so many processes on this machine; one is the process that asks."""
    if workers == 1:
        return LocalEngine()
    from promptpex.engines.processes import ProcessEngine  # its imports take 18 ms

    return ProcessEngine(workers)
