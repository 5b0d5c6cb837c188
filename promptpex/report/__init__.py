"""Reports of a run: for a terminal, for machines, as files."""

from __future__ import annotations

from promptpex.report.summary import Example, Summary, plain, summarise

__all__ = ["Example", "Summary", "plain", "summarise"]
