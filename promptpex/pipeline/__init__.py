"""The order of the stages, on records: the only place that knows it."""

from __future__ import annotations

from promptpex.pipeline.benching import Bench, bench, spec_as_prompt
from promptpex.pipeline.generating import (
    Generated,
    Quality,
    generate,
    generation,
    make_baseline,
    planned,
    quality,
)
from promptpex.pipeline.running import begin, judge, judges_for, judging, warn_of_kin
from promptpex.pipeline.specifying import Update, add_checks, extract, groundedness, update
from promptpex.pipeline.until import execute, refuse_unanswerable

__all__ = [
    "Bench",
    "Generated",
    "Quality",
    "Update",
    "add_checks",
    "begin",
    "bench",
    "execute",
    "extract",
    "generate",
    "generation",
    "groundedness",
    "judge",
    "judges_for",
    "judging",
    "make_baseline",
    "planned",
    "quality",
    "refuse_unanswerable",
    "spec_as_prompt",
    "update",
    "warn_of_kin",
]
