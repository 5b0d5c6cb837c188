"""The steps as functions on records, for programs and notebooks.

Each opens a session, does its work and closes it. Settings are the command line's, by name (``seed=1``,
``store="..."``, ``max_cost=0.5``); environment and settings files apply here as well. ``client`` replaces the real
models, as ``FakeClient`` does in tests; its replies go into a store only where ``store=`` names one. An interruption
(``KeyboardInterrupt``, a notebook's stop button) cancels what is being asked; what was answered stays in the store.
"""

from __future__ import annotations

from promptpex.api.batches import BatchResult, run_batch
from promptpex.api.existing_runs import align, compare, read_run
from promptpex.api.keyword_settings import KeywordSettings
from promptpex.api.run_result import RunResult
from promptpex.api.steps import extract, generate, judge, run, select, synthesize

__all__ = [
    "BatchResult",
    "KeywordSettings",
    "RunResult",
    "align",
    "compare",
    "extract",
    "generate",
    "judge",
    "read_run",
    "run",
    "run_batch",
    "select",
    "synthesize",
]
