"""Reports of a run: for a terminal, for machines, as files."""

from __future__ import annotations

from promptpex.report.summary import FailureExample, Summary, summarise, to_dict

__all__ = ["FailureExample", "Summary", "summarise", "to_dict"]
