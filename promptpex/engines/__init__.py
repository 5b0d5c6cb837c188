"""Engines: where jobs run. They know neither models nor stages."""

from __future__ import annotations

from promptpex.engines.blocking_iterator import as_they_come
from promptpex.engines.in_process import LocalEngine, for_each, run_all
from promptpex.engines.jobs import Engine, Job
from promptpex.engines.local import local_engine, usable_cpus

__all__ = [
    "Engine",
    "Job",
    "LocalEngine",
    "as_they_come",
    "for_each",
    "local_engine",
    "run_all",
    "usable_cpus",
]
