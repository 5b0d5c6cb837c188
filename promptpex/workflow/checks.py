"""The checks of a spec on rows of outputs: with a judge at hand, on several workers, or as a function."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.assertions import ExpectedOutput, OutputOfCase, check_conditions, check_time
from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.batch import PartCheckJob, RowCheckJob, RowReport, chunks, file_parts
from promptpex.assertions.rows_to_check import INPUTS, OUTPUTS, CheckRow, run_inputs
from promptpex.assertions.rule_verdicts import code_verdicts, compiled_rules
from promptpex.core.errors import ConfigError
from promptpex.core.judge_questions import Answers, JudgeAnswer
from promptpex.core.records import Output, Prompt, Rule, TokenLogprob, Verdict
from promptpex.core.time_allowance import Allowance
from promptpex.engines import Engine, LocalEngine
from promptpex.judging.questions import STAGE, QuestionJudge, ask_all, evaluated
from promptpex.judging.verdict_precedence import after_broken, left_open
from promptpex.promptfile import RENDERING_SECONDS, sent_text
from promptpex.workflow.session import Session


async def reports_with_judge(
    session: Session, rows: Iterable[CheckRow], checks: CheckFile | None, prompt: Prompt | None = None
) -> list[RowReport]:
    """What the assertions of each row come to, in order; the first judge answers what they ask.

    Args:
        prompt: fills in what a row does not say that its model was sent.
    """
    judges = session.roles.judges()
    if not judges:
        raise ConfigError("there is no judge to answer questions; name one with --judge")
    judge = QuestionJudge(judges[0], session.settings.instructions.get(STAGE, ""))
    reports: list[RowReport] = []
    time = Allowance(RENDERING_SECONDS)
    async with RowCheckJob(checks).open() as reports_on:
        for chunk in chunks(rows):

            async def evaluate(items: Sequence[tuple[CheckRow, Answers]]) -> list[tuple[RowReport, Sequence[str]]]:
                row_reports = await reports_on([replace(row, answers=answers) for row, answers in items])
                return [(each, each.report.questions) for each in row_reports]

            async def ask(asked: Sequence[tuple[CheckRow, str]]) -> list[JudgeAnswer]:
                texts = [(str(row.measured.get("prompt") or ""), row.text, question) for row, question in asked]
                return await ask_all(judge, texts, session.emit)

            rows_with_prompt = [_with_prompt(row, prompt, time) for row in chunk]
            reports += await evaluated(rows_with_prompt, evaluate, ask)
    return reports


def _with_prompt(row: CheckRow, prompt: Prompt | None, time: Allowance) -> CheckRow:
    if prompt is None or row.measured.get("prompt") is not None:
        return row
    return replace(row, measured={**row.measured, "prompt": sent_text(prompt, dict(row.vars), time)})


def prompt_of_run(folder: Path) -> Prompt | None:
    """The prompt that a run's folder keeps; None where it cannot be read, or the folder is not a run's."""
    if not folder.is_dir():
        return None
    try:
        return Prompt.model_validate(run_inputs(folder / INPUTS).get("prompt"))
    except ValidationError:
        return None


async def reports_by_code(
    engine: Engine, checks: CheckFile | None, rows: Iterator[CheckRow], files: Sequence[Path]
) -> AsyncGenerator[list[RowReport], None]:
    """The reports of all rows, in order, some at a time as they come.

    Args:
        engine: checks them; where that is other processes, parts of files go to them.
        rows: all of them, for where they have to be read here: on stdin, or of a run, whose cases belong to them.
        files: which they are in; none where all rows have to be seen here.
    """
    job = PartCheckJob(checks)
    if isinstance(engine, LocalEngine) or not files or not all(map(_has_parts, files)):
        stream = engine.stream(job, chunks(rows))
    else:
        stream = engine.stream(job, file_parts(files))
    async with aclosing(stream):
        async for checked in stream:
            yield checked.reports
            if checked.error is not None:
                raise checked.error


def _has_parts(file: Path) -> bool:
    return not (str(file) == "-" or file.is_dir() or file.name == OUTPUTS)


GIVEN = "given"
"""What the verdicts call the case and the model, which nobody named."""


class RuleChecks:
    """Rules whose checks are made ready once, to be held against many outputs.

    Calling it with an output gives a verdict for each rule that has checks, by its id: as ``promptpex run`` gives it
    where no judge is asked. A condition that does not hold is ``not_concerned``; what cannot be decided is
    ``unscored``, with its reason; so is a rule that its checks pass and decide only in part.

    Args:
        rules: records, or mappings as a spec has them; stale ones are left out.
    """

    def __init__(self, rules: Iterable[Rule | Mapping[str, Any]]) -> None:
        records = [rule if isinstance(rule, Rule) else Rule.model_validate(rule) for rule in rules]
        self.rules = tuple(rule for rule in records if not rule.stale)
        with check_time():
            self._compiled = compiled_rules(self.rules)

    def __call__(
        self,
        output: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        expected: str | None = None,
        also_right: Iterable[str] = (),
        match: str = "normalised",
        prompt: str = "",
        cost_usd: float | None = None,
        latency_ms: float | None = None,
        finish_reason: str | None = None,
        logprobs: Iterable[float] | None = None,
    ) -> dict[str, Verdict]:
        """The verdicts on an output, by the ids of the rules.

        Args:
            output: what a model answered.
            inputs: of its case, for conditions, templates and code.
            expected: the right output, where it is known. also_right: further ones. match: how they are compared with.
            prompt: what the model was sent, for code that looks at it.
            cost_usd: US dollars. latency_ms: milliseconds.
            finish_reason: as the provider gave it.
            logprobs: natural-log probabilities of the tokens.
        """
        tokens = None if logprobs is None else tuple(TokenLogprob(token="", logprob=one) for one in logprobs)
        measured = {"cost_usd": cost_usd, "latency_ms": latency_ms, "finish_reason": finish_reason, "logprobs": tokens}
        one = Output(case=GIVEN, model=GIVEN, text=output, **measured)
        right = None if expected is None else ExpectedOutput(expected, match, tuple(also_right))
        each = OutputOfCase(output=one, inputs=dict(inputs or {}), expected=right, prompt=prompt)
        with check_time():
            unmet = check_conditions(self.rules, [one], lambda _: each.inputs)
            of_code = [verdict for verdict, _ in code_verdicts(self._compiled, [each])]
        checked = left_open(of_code, self.rules, ())
        settled = {verdict.rule: verdict for verdict in (*checked, *unmet)}
        with_checks = [settled[rule.id] for rule in self.rules if rule.checks]
        return {verdict.rule: verdict for verdict in after_broken(self.rules, with_checks)}
