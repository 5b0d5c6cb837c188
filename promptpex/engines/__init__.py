"""Engines: where jobs run. They know neither models nor stages."""

from __future__ import annotations

from promptpex.engines.in_process import LocalEngine, run_all
from promptpex.engines.jobs import Engine, FunctionJob, Job
from promptpex.engines.processes import ProcessEngine

__all__ = ["Engine", "FunctionJob", "Job", "LocalEngine", "ProcessEngine", "local_engine", "run_all"]


def local_engine(workers: int) -> Engine:
    """The engine of so many processes on this machine; one is the process that asks."""
    return LocalEngine() if workers == 1 else ProcessEngine(workers)
