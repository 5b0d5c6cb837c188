"""Prompts as collections of tests: one for each case on each model under test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from promptpex.codecs.text.control_characters import visible
from promptpex.core.errors import PromptpexError
from promptpex.core.outcomes import OutputOutcome
from promptpex.core.records import Case
from promptpex.core.translation import from_data, reading_in, tr
from promptpex.promptfile import has_own_files
from promptpex.pytest_plugin.asking import RUNS, Answers
from promptpex.pytest_plugin.failure_text import FailureText, broken_text, language_of, unscored_text
from promptpex.pytest_plugin.settings import resolved_for
from promptpex.workflow.execution.case_model_pairs import Pair, Planned, plan
from promptpex.workflow.project_files import files_of


class PromptFile(pytest.File):
    """The tests of a prompt."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each usable case on each model, case by case."""
        files = files_of(_seen_from(self.config.invocation_params.dir, self.path))
        if not has_own_files(self.path) and not self.session.isinitpath(self.path):
            pytest.skip(f"{self.path.name} has neither a spec nor cases yet", allow_module_level=True)
        try:
            planned = plan(files, resolved_for(self.config, files.prompt))
        except PromptpexError as error:
            raise self.CollectError(visible(str(error))) from error
        for case in planned.suite.usable():
            for model in planned.models:
                name = visible(f"{case.id}[{model}]")
                nodeid = f"{self.nodeid}::{name}"  # given as text, it has its parameter as those of functions have
                yield PromptCase.from_parent(self, name=name, nodeid=nodeid, case=case, model=model, planned=planned)


class PromptCase(pytest.Item):
    """One case on one model: it passes if no output breaks a rule, and all could be scored.

    Attributes:
        case: what is sent.
        pair: the case's id and the model's label.
    """

    def __init__(self, *, case: Case, model: str, planned: Planned, **node: Any) -> None:
        super().__init__(**node)
        self.case = case
        self.pair: Pair = (case.id, model)
        self._planned = planned
        self._outcome: OutputOutcome | None = None
        self._answers = Answers()
        self.extra_keyword_matches.update({"promptpex", planned.prompt.name, model, case.rule or ""})
        self.add_marker("promptpex")
        if self.config.pluginmanager.hasplugin("timeout"):
            self.add_marker(pytest.mark.timeout(0))  # the first test waits for all; limits of requests are settings

    def setup(self) -> None:
        """Gets the answers: with those of all selected tests of the prompt, or alone where a failure may end it all."""
        if self.config.getoption("setuponly", False):
            return
        runs = self.config.stash[RUNS]
        pairs = [] if runs.one_by_one else [item.pair for item in self._selected]
        try:
            self._answers = runs.run_of(self._planned).answers(self.pair, pairs)
        except PromptpexError as error:
            with reading_in(language_of(self._planned)):
                pytest.fail(visible(from_data(str(error))), pytrace=False)
        self._outcome = self._answers.outcome
        if self._outcome.status == "unscored" and self.config.stash[RUNS].unscored == "error":
            self._fail(unscored_text)

    def runtest(self) -> None:
        """Fails with the rules that are broken."""
        assert self._outcome is not None
        if self._outcome.status == "fail":
            self._fail(broken_text)
        if self._outcome.status == "unscored":
            if self.config.stash[RUNS].unscored == "skip":
                with reading_in(language_of(self._planned)):
                    pytest.skip(visible(tr("unscored: {reason}", reason=from_data(self._outcome.code))))
            self._fail(unscored_text)

    def _fail(self, text: FailureText) -> NoReturn:
        """Fails with rules, reasons and output; no traceback of ours."""
        assert self._outcome is not None
        pytest.fail(text(self._planned, self.pair, self._outcome, self._answers.outputs), pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the test is."""
        return self.path, None, self.name

    @property
    def _selected(self) -> list[PromptCase]:
        """The tests of this prompt that are to run in this session."""
        return [item for item in self.session.items if isinstance(item, PromptCase) and item.path == self.path]


def _seen_from(folder: Path, path: Path) -> Path:
    """The path as one would type it in this folder."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path
