"""The fixture ``promptpex``: one input or case of a prompt, sent to a model and judged, in a test of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from promptpex.codecs.text.control_characters import visible
from promptpex.core.errors import ConfigError, InputError
from promptpex.core.outcomes import decided_rules, outcome_of
from promptpex.core.records import Case, Output, Status, Suite, Verdict
from promptpex.pytest_plugin.collecting import broken_text, resolved_for, unscored_text
from promptpex.workflow.execution import case_model_pairs
from promptpex.workflow.execution.case_model_pairs import AskedPortion, Planned, plan
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session, result_of

GIVEN = "given"
"""The id of a case that a test makes itself."""


@dataclass(frozen=True, slots=True, repr=False)
class PromptAnswer:
    """What a model answered, and what the rules say of it.

    Attributes:
        output: the answer, or the error in its place.
        verdicts: by the id of each rule, the one that decides it.
        explanation: which rules are broken and why, the inputs and the output; empty where it passed.
    """

    output: Output
    verdicts: Mapping[str, Verdict]
    explanation: str = ""

    @property
    def text(self) -> str:
        """The answer; empty where there is none."""
        return self.output.text or ""

    @property
    def passed(self) -> bool:
        return not self.explanation

    def status(self, rule: str) -> Status:
        """What became of a rule: ``pass``, ``fail``, ``not_concerned`` or ``unscored``.

        Raises:
            InputError: the spec has no such rule.
        """
        if rule not in self.verdicts:
            raise InputError(f"there is no rule {rule!r}; the rules are {', '.join(self.verdicts)}")
        return self.verdicts[rule].status

    def __repr__(self) -> str:
        return self.explanation or f"the answer passed: {visible(self.text[:80])!r}"


class AskPrompt:
    """The fixture's value: called with a prompt and its inputs, it gives the answer."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def __call__(
        self,
        prompt: str | Path,
        inputs: Mapping[str, Any] | None = None,
        *,
        case: str | None = None,
        model: str | None = None,
        judge: str | None = None,
    ) -> PromptAnswer:
        """The answer of a model, with its verdicts.

        Args:
            prompt: its file; a relative path counts from pytest's root folder.
            inputs: the variables of the prompt.
            case: instead of them, the id of a case of the prompt's.
            model: who is asked; None: the model under test that options or settings name.
            judge: judges, comma-separated, or ``none``; None: as the options or settings say.

        Raises:
            PromptpexError: a file or a setting that cannot be used.
        """
        path = self._config.rootpath / prompt
        call_settings = {"models": model, "judge": judge, "repeats": 1}
        with chdir(self._config.invocation_params.dir):  # from where paths of settings count, wherever the test is
            planned = plan(files_of(path), resolved_for(self._config, path, call_settings), with_cases=case is not None)
            if len(planned.models) > 1:
                raise ConfigError(f"several models are under test; name one of them: model={planned.models[0]!r}")
            return _asked(_with_case(planned, inputs, case))


def _with_case(planned: Planned, inputs: Mapping[str, Any] | None, case: str | None) -> Planned:
    """The plan with the one case that is asked."""
    if (inputs is None) == (case is None):
        raise InputError("give the inputs of the prompt, or case= with the id of one of its cases")
    if inputs is not None:
        one = Case(id=GIVEN, inputs=dict(inputs))
    else:
        cases = {one.id: one for one in planned.suite.valid()}
        if case not in cases:
            raise InputError(f"there is no case {case!r}", path=planned.files.suite)
        one = cases[case]
    return replace(planned, suite=Suite(prompt=planned.suite.prompt, cases=(one.replace(aside=None),)))


def _asked(planned: Planned) -> PromptAnswer:
    pair = (planned.suite.cases[0].id, planned.models[0])

    async def work() -> AskedPortion:
        async with open_session(planned.resolved) as session:
            begun = await case_model_pairs.begin(session, planned)
            return await case_model_pairs.ask(session, begun, {pair})

    portion = result_of(work)
    outputs = portion.outputs
    outcome, decided = outcome_of(portion.verdicts, outputs[0].error), decided_rules(portion.verdicts)
    if outcome.status == "pass":
        return PromptAnswer(outputs[0], decided)
    explain = broken_text if outcome.status == "fail" else unscored_text
    return PromptAnswer(outputs[0], decided, explain(planned, pair, outcome, outputs))
