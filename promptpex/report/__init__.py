"""Reports of a run: for a terminal, for machines, as files."""

from __future__ import annotations

from promptpex.report.failures import FailureExample
from promptpex.report.summary import Summary, summarise, to_dict

__all__ = ["FailureExample", "Summary", "summarise", "to_dict"]
