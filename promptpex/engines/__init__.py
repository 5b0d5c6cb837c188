"""Engines: where jobs run. They know neither models nor stages."""

from __future__ import annotations

from promptpex.engines.in_process import LocalEngine, run_all
from promptpex.engines.jobs import Engine, FunctionJob, Job
from promptpex.engines.processes import ProcessEngine

__all__ = ["Engine", "FunctionJob", "Job", "LocalEngine", "ProcessEngine", "run_all"]
