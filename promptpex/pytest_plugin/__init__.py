"""The pytest plugin: with ``--promptpex`` each case of a prompt, on each model, is a test; and a fixture for tests of
one's own.

pytest loads this module in every project where promptpex is installed, so it costs nothing: what it needs is imported
when ``--promptpex`` is given or the fixture is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from promptpex.pytest_plugin.asking import PromptRuns
    from promptpex.pytest_plugin.fixture import AskPrompt

UNSCORED = ("error", "fail", "skip")
"""What may become of a test whose output could not be scored; the first is the default."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options, and the ini options of the same names."""
    group = parser.getgroup("promptpex", "prompts as tests (promptpex)")
    group.addoption("--promptpex", action="store_true", help="Collect prompts: a test for each case on each model.")
    group.addoption("--promptpex-models", metavar="NAMES", help="Models under test [those of promptpex.toml].")
    group.addoption("--promptpex-judge", metavar="NAMES", help="Judges; none: checks alone [that of promptpex.toml].")
    group.addoption(
        "--promptpex-unscored", choices=UNSCORED, help=f"What an output that has no verdict is [{UNSCORED[0]}]."
    )
    parser.addini("promptpex_unscored", "What an output that has no verdict is: error, fail or skip.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "promptpex: a case of a prompt on a model, made by promptpex")
    if config.getoption("promptpex"):
        from promptpex.pytest_plugin.asking import RUNS, PromptRuns

        config.stash[RUNS] = PromptRuns.of(config, _unscored(config))


def _unscored(config: pytest.Config) -> str:
    chosen = config.getoption("promptpex_unscored") or config.getini("promptpex_unscored") or UNSCORED[0]
    if chosen not in UNSCORED:
        raise pytest.UsageError(f"promptpex_unscored is {chosen!r}: write {', '.join(UNSCORED[:-1])} or {UNSCORED[-1]}")
    return str(chosen)


def _runs(config: pytest.Config) -> PromptRuns | None:
    """The runs that this process makes; None where it was not given ``--promptpex``."""
    if not config.getoption("promptpex"):
        return None
    from promptpex.pytest_plugin.asking import RUNS

    return config.stash.get(RUNS, None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    runs = _runs(node.config)
    if runs is not None:
        node.workerinput["promptpex_shared"] = str(runs.shared)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The tests of a prompt, where prompts are wanted and the file is one."""
    if _runs(parent.config) is None:
        return None
    from promptpex.promptfile import is_prompt
    from promptpex.pytest_plugin.collecting import PromptFile

    if not is_prompt(file_path, named=parent.session.isinitpath(file_path)):
        return None
    return PromptFile.from_parent(parent, path=file_path)


def pytest_report_collectionfinish(config: pytest.Config, items: Sequence[pytest.Item]) -> str | None:
    """Says what the first test of each prompt will wait for."""
    runs = _runs(config)
    if runs is None or runs.one_by_one or config.getoption("collectonly"):
        return None
    tests = Counter(item.path.name for item in items if item.get_closest_marker("promptpex"))
    counts_text = ", ".join(f"{count} of {name}" for name, count in tests.items())
    return f"promptpex: tests that are asked for together: {counts_text}" if tests else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Closes what is open; the main process writes the runs' folders."""
    runs = _runs(session.config)
    if runs is not None and not runs.end():
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says where the runs are, and what should be known about them."""
    runs = _runs(config)
    if runs is not None and runs.endings:
        terminalreporter.ensure_newline()
        terminalreporter.section("promptpex")
        for line in runs.endings:
            terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    runs = _runs(config)
    if runs is not None:
        runs.remove_shared()


@pytest.fixture(scope="session")
def promptpex(pytestconfig: pytest.Config) -> AskPrompt:
    """Sends inputs, or a case, to a prompt and gives the answer with its verdicts: see docs/pytest.md."""
    from promptpex.pytest_plugin.fixture import AskPrompt

    return AskPrompt(pytestconfig)
