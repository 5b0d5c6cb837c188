"""Checking rows of outputs with a judge at hand, who answers the questions of their checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.batch import RowCheckJob, RowReport, chunks
from promptpex.assertions.rows_to_check import INPUTS, CheckRow, run_inputs
from promptpex.core.errors import ConfigError
from promptpex.core.judge_questions import Answers, JudgeAnswer
from promptpex.core.records import Prompt
from promptpex.core.time_allowance import Allowance
from promptpex.judging.questions import STAGE, QuestionJudge, ask_all, evaluated
from promptpex.promptfile import RENDERING_SECONDS, sent_text
from promptpex.workflow.session import Session


async def reports_with_judge(
    session: Session, rows: Iterable[CheckRow], checks: CheckFile | None, prompt: Prompt | None = None
) -> list[RowReport]:
    """What the assertions of each row come to, in order; the first judge answers what they ask.

    Args:
        prompt: fills in what a row does not say that its model was sent.

    Raises:
        ConfigError: there is no judge.
        CheckError: a row without assertions, where no file gives any.
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
                texts = [(_text(row.measured.get("prompt")), row.text, question) for row, question in asked]
                return await ask_all(judge, texts, session.emit)

            rows_with_prompt = [_with_prompt(row, prompt, time) for row in chunk]
            reports += await evaluated(rows_with_prompt, evaluate, ask)
    return reports


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _with_prompt(row: CheckRow, prompt: Prompt | None, time: Allowance) -> CheckRow:
    if prompt is None or row.measured.get("prompt") is not None:
        return row
    return replace(row, measured={**row.measured, "prompt": sent_text(prompt, dict(row.vars), time)})


def prompt_of_run(folder: Path) -> Prompt | None:
    """The prompt that a run's folder keeps; None where it cannot be read, or the folder is not a run's.

    Raises:
        CheckError: the run's inputs cannot be read.
    """
    if not folder.is_dir():
        return None
    try:
        return Prompt.model_validate(run_inputs(folder / INPUTS).get("prompt"))
    except ValidationError:
        return None
