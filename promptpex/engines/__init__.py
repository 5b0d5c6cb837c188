"""Engines: where jobs run. They know neither models nor stages."""

from __future__ import annotations

from promptpex.engines.in_process import LocalEngine, as_they_come, for_each, run_all
from promptpex.engines.jobs import Engine, Job
from promptpex.engines.open_engine import local_engine, open_engine, usable_cpus

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
