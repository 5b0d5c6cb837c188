"""Prompts as collections of tests: one for each case on each model under test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any, NoReturn

import pytest

from promptpex.codecs.text.control_characters import visible
from promptpex.config import Resolved, load
from promptpex.core.errors import PromptpexError
from promptpex.core.outcomes import OutputOutcome
from promptpex.core.records import Case, Output, Verdict
from promptpex.core.translation import from_data, reading_in, tr, tr_n
from promptpex.promptfile import has_own_files
from promptpex.pytest_plugin.asking import RUNS, Answers
from promptpex.report.translated_values import reason_of
from promptpex.workflow.execution.case_model_pairs import Pair, Planned, plan
from promptpex.workflow.project_files import files_of


def resolved_for(config: pytest.Config, prompt: Path, given: Mapping[str, object] | None = None) -> Resolved:
    """The settings in force for a prompt, as ``promptpex run`` finds them.

    Args:
        given: what goes before the options; None of a value: as the options say.

    Raises:
        ConfigError: a setting that cannot be used.
    """
    options = {name: _listed(config.getoption(f"promptpex_{name}")) for name in ("models", "judge")}
    values = {**options, **{name: value for name, value in (given or {}).items() if value is not None}}
    flags = {name: value for name, value in values.items() if value is not None}
    return load(flags, start=prompt.parent, env=os.environ)


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


MOST_VERDICTS = 20
LONGEST = 2_000
"""Characters of an output or a reason; of an input a quarter."""


FailureText = Callable[[Planned, Pair, OutputOutcome, Sequence[Output]], str]
"""What is shown of a pair of case and model, by what its outputs come to."""


def broken_text(planned: Planned, pair: Pair, outcome: OutputOutcome, outputs: Sequence[Output]) -> str:
    """What is shown of a case that breaks rules."""
    rules = list(dict.fromkeys(verdict.rule for verdict in outcome.deciding))
    with reading_in(language_of(planned)):
        first = tr_n(
            "{model} breaks a rule on the case {case}",
            "{model} breaks {count} rules on the case {case}",
            len(rules),
            model=pair[1],
            case=pair[0],
        )
        return _text([first, *_verdicts(planned, outcome)], planned, pair, outputs)


def unscored_text(planned: Planned, pair: Pair, outcome: OutputOutcome, outputs: Sequence[Output]) -> str:
    with reading_in(language_of(planned)):
        code = from_data(outcome.code)
        first = tr("{model} has no verdict on the case {case}: {reason}", model=pair[1], case=pair[0], reason=code)
        messages = [f"  {short(from_data(output.message))}" for output in outputs if output.error and output.message]
        return _text([first, *(messages or _verdicts(planned, outcome))], planned, pair, outputs)


def language_of(planned: Planned) -> str:
    return planned.resolved.settings.report_language


def short(text: str, most: int = LONGEST) -> str:
    left_out = len(text) - most
    if left_out <= 0:
        return text
    more = tr_n("{count} more character", "{count} more characters", left_out)
    return f"{text[:most]}... ({more})"


def _text(lines: Sequence[str], planned: Planned, pair: Pair, outputs: Sequence[Output]) -> str:
    case = next(case for case in planned.suite.cases if case.id == pair[0])
    return visible("\n".join([*lines, *_inputs(case), *_outputs(outputs)]))


def _verdicts(planned: Planned, outcome: OutputOutcome) -> Iterator[str]:
    rules_shown: set[str] = set()
    for verdict in outcome.deciding[:MOST_VERDICTS]:
        if verdict.rule not in rules_shown:
            rules_shown.add(verdict.rule)
            yield f"  {verdict.rule}: {_words(planned, verdict)}"
        yield f"    {short(_reason(verdict))} ({verdict.source})"
    if len(outcome.deciding) > MOST_VERDICTS:
        yield "  " + tr("and {count} more", count=len(outcome.deciding) - MOST_VERDICTS)


def _reason(verdict: Verdict) -> str:
    if verdict.reason:
        return reason_of(verdict.reason, verdict.source, unscored=verdict.unscored is not None)
    return from_data(verdict.unscored or verdict.status)


def _words(planned: Planned, verdict: Verdict) -> str:
    rule = planned.spec.rule(verdict.rule)
    return short(rule.rule) if rule is not None else tr("a rule of the judge mode")


def _inputs(case: Case) -> Iterator[str]:
    yield tr("Inputs:")
    for name, value in case.inputs.items():
        yield f"  {name}: {short(str(value), LONGEST // 4)}"


def _outputs(outputs: Sequence[Output]) -> Iterator[str]:
    for output in outputs:
        if output.text is not None:
            yield tr("Output:") if len(outputs) == 1 else tr("Output {number}:", number=output.repeat + 1)
            yield indent(short(output.text), "  ")


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
        return self.path, None, self.name

    @property
    def _selected(self) -> list[PromptCase]:
        return [item for item in self.session.items if isinstance(item, PromptCase) and item.path == self.path]


def _seen_from(folder: Path, path: Path) -> Path:
    return path.relative_to(folder) if path.is_relative_to(folder) else path
