"""Tables: a run as tidy DataFrames. The one home of pandas."""

from __future__ import annotations

from promptpex.tables.frames import OUTPUT_COLUMNS, VERDICT_COLUMNS, outputs, row_verdicts, typed, verdicts
from promptpex.tables.summary import MODEL_COLUMNS, RULE_COLUMNS, models, rules

__all__ = [
    "MODEL_COLUMNS",
    "OUTPUT_COLUMNS",
    "RULE_COLUMNS",
    "VERDICT_COLUMNS",
    "models",
    "outputs",
    "row_verdicts",
    "rules",
    "typed",
    "verdicts",
]
