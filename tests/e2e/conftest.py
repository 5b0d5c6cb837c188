"""Prints the tally of the fault campaign."""

from __future__ import annotations

import pytest

from tests.e2e.tally import TALLY


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the tally, where faults were tried."""
    if TALLY.rows:
        terminalreporter.section("fault campaign")
        for line in TALLY.table():
            terminalreporter.line(line)
