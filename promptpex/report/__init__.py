"""Reports of a run: for a terminal, for machines, as files."""

from __future__ import annotations

from promptpex.report.summary import Example, Summary, summarise, to_dict

__all__ = ["Example", "Summary", "summarise", "to_dict"]
