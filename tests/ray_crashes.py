"""A test in whose process Ray was and which ended that process is run once more, and the summary says so.

Ray ends a connected process with status 1, and with nothing that could be caught, where it finds something in itself
that it does not expect. In one of several hundred runs of these tests that took two processes of the run with it, and
with each the test that was running. A process of the run leaves a file while it is connected; where it is still there
after the process has died, Ray may be why. A test that ends its process again has failed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest


class Scheduler(Protocol):
    """What of pytest-xdist hands out tests."""

    def mark_test_pending(self, item: str) -> None: ...


@contextmanager
def connected(config: pytest.Config) -> Iterator[None]:
    """For as long as this process of a run may be connected to Ray."""
    process: Mapping[str, object] | None = getattr(config, "workerinput", None)
    if process is None:
        yield
        return
    sign = _sign(process)
    sign.touch()
    try:
        yield
    finally:
        sign.unlink(missing_ok=True)


class RunsAgain:
    """The plugin of the process that hands out the tests."""

    def __init__(self) -> None:
        self._again: dict[str, str] = {}

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Scheduler) -> None:
        """Has a test run again that ended a process in which Ray was, the first time."""
        sign = _sign(report.node.workerinput)
        if sign.exists() and crashitem not in self._again:
            self._again[crashitem] = str(report.longrepr)
            report.outcome = "rerun"  # type: ignore[assignment]
            sched.mark_test_pending(crashitem)
        sign.unlink(missing_ok=True)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """How that is shown while tests run."""
        return ("rerun", "R", "RERUN") if str(report.outcome) == "rerun" else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Which tests these were."""
        for message in self._again.values():
            terminalreporter.write_line(f"RERUN {message}; Ray was in it, so the test was run again")


def _sign(process: Mapping[str, object]) -> Path:
    return Path(tempfile.gettempdir()) / f"promptpex-ray-{process['testrunuid']}-{process['workerid']}"
