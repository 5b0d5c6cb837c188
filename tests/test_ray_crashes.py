"""A test that Ray ended with its process is run once more, no other test is, and none twice."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.ray_crashes import RunsAgain, connected

PROCESS = {"testrunuid": "of-this-test", "workerid": "gw7"}


class Handed:
    """The scheduler: which tests were put back."""

    def __init__(self) -> None:
        self.pending: list[str] = []

    def mark_test_pending(self, item: str) -> None:
        self.pending.append(item)


def crashed(plugin: RunsAgain, test: str, sched: Handed) -> Any:
    """What the plugin makes of the report on a test that ended its process."""
    report = cast(Any, SimpleNamespace(outcome="failed", longrepr="crashed", node=SimpleNamespace(workerinput=PROCESS)))
    plugin.pytest_handlecrashitem(test, report, sched)
    return report


def test_what_ray_ended_is_run_again_once() -> None:
    plugin, sched = RunsAgain(), Handed()
    config = cast(pytest.Config, SimpleNamespace(workerinput=PROCESS))
    outcomes: list[str] = []
    for test in ("a", "b", "a"):
        with connected(config):
            outcomes.append(crashed(plugin, test, sched).outcome)
    outcomes.append(crashed(plugin, "without Ray", sched).outcome)
    assert outcomes == ["rerun", "rerun", "failed", "failed"]
    assert sched.pending == ["a", "b"]


def test_it_is_counted_and_named() -> None:
    plugin, lines = RunsAgain(), list[str]()
    with connected(cast(pytest.Config, SimpleNamespace(workerinput=PROCESS))):
        report = crashed(plugin, "a", Handed())
    assert plugin.pytest_report_teststatus(report) == ("rerun", "R", "RERUN")
    plugin.pytest_terminal_summary(cast(Any, SimpleNamespace(write_line=lines.append)))
    assert lines == ["RERUN crashed; Ray was in it, so the test was run again"]


def test_a_process_that_is_no_part_of_a_run_leaves_nothing() -> None:
    with connected(cast(pytest.Config, SimpleNamespace())):
        assert crashed(RunsAgain(), "a", Handed()).outcome == "failed"
