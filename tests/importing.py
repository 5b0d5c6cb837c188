"""The processes of a test run share the work of making test modules ready (the first run in a clone compiles them all).

Each would import all modules in the same order, and so compile each at the same moment as the others do. A process
first imports a share of its own instead, and finds the others' compiled when it collects.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def import_share(config: pytest.Config, number: int, processes: int) -> None:
    """Imports the ``number``-th of so many shares of all test modules, in a run of all tests; else nothing."""
    named = [Path(config.invocation_params.dir, argument).resolve() for argument in config.args]
    if named != [TESTS]:
        return
    for module in share_of(modules_in(TESTS), number, processes):
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting it will say what is wrong
            importlib.import_module(module)


def modules_in(folder: Path) -> list[str]:
    """The names of all test modules below a package's folder, in order."""
    return [
        ".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in sorted(folder.rglob("test_*.py"))
    ]


def share_of(modules: Sequence[str], number: int, processes: int) -> Sequence[str]:
    """Which of them are the share of a process, the first having number 0."""
    return modules[len(modules) * number // processes : len(modules) * (number + 1) // processes]
