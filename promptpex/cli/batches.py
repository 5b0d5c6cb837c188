"""Several prompts in one command: what was named, what is printed in the end, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli.output import NO_ANSWER, asked_in_words, print_json, say
from promptpex.cli.run_ending import over_limit, without_answers
from promptpex.core.errors import GateFailed, Interrupted

if TYPE_CHECKING:
    from promptpex.report.batches.batch_report import BatchReport
    from promptpex.report.batches.batch_screen import BatchEnding
    from promptpex.workflow.batches.batch_reports import MadeBatch

GRAVITY = (0, 1, NO_ANSWER, 2, Interrupted.exit_code)
"""Exit codes, the gravest last: a limit was passed, nothing usable came, a prompt could not be run, stopped."""


def is_one_file(named: Sequence[Path]) -> bool:
    """Whether one prompt was named; a folder, a pattern and several files are a batch, however few they hold."""
    from promptpex.promptfile import is_pattern

    return len(named) == 1 and not named[0].is_dir() and not is_pattern(named[0])


def refuse_files_of_one(**given: Path | None) -> None:
    """Refuses options that name a file of one prompt.

    Raises:
        UsageError: with the first of them.
    """
    for name, path in given.items():
        if path is not None:
            raise click.UsageError(
                f"--{name} names a file of one prompt; several prompts have each their own beside it"
            )


def show_batch_report(
    report: BatchReport, ending: BatchEnding, *, as_json: bool, full: bool, totals: Mapping[str, Any] | None = None
) -> None:
    """Prints what a batch ends with."""
    from promptpex.report.batches.batch_screen import show_batch

    if as_json:
        print_json({**report.to_dict(), "requests": dict(totals or {})})
        return
    from rich.console import Console

    show_batch(report, Console(soft_wrap=False), ending, full=full)


def ending_of(report: BatchReport, totals: Mapping[str, Any]) -> BatchEnding:
    """How the command ends that made a batch."""
    from promptpex.cli.command_session import kept_and_resumed, resume_line
    from promptpex.report.batches.batch_screen import BatchEnding

    incomplete = any(
        one.part.run is None or one.summary is None or one.summary.run.manifest.partial for one in report.parts
    )
    stopped = any(one.summary and one.summary.run.manifest.partial == "interrupted" for one in report.parts)
    again = resume_line() if incomplete and not stopped else ""  # a command that was stopped says so itself
    then = f"promptpex: {kept_and_resumed()}" if stopped else ""
    gate = "" if incomplete else "promptpex gate latest --max-non-compliance 10%"
    return BatchEnding(asked_in_words(totals), again, gate, then)


def batch_exit_code(made: MadeBatch, *, stopped: bool, fail_above: float | None, allow_missing: bool) -> int:
    """The gravest exit code of the prompts; what lacks an answer, and what is above the limit, is named on stderr.

    Args:
        stopped: whether the user stopped the command.

    Raises:
        Interrupted: the command was stopped.
        GateFailed: a model is above ``fail_above``, and nothing graver happened.
    """
    from promptpex.cli.command_session import kept_and_resumed

    if stopped:
        raise Interrupted(kept_and_resumed())
    codes = [one.problem.exit_code for one in made.runs if one.problem is not None]
    failing = []
    for one in made.report.parts:
        if one.summary is None:
            continue
        name = made.report.names[one.part.file]
        sentences = without_answers(one.summary, allow_missing=allow_missing)
        for sentence in sentences:
            say(f"promptpex: {name}: {sentence}", err=True)
        codes += [NO_ANSWER] if sentences else []
        if over := over_limit(one.summary, fail_above):
            failing.append(f"{name}: {over}")
    code = gravest(codes)
    if failing and code == 0:
        raise GateFailed("; ".join(failing))
    for sentence in failing:
        say(f"promptpex: {sentence}", err=True)
    return code


def gravest(codes: Sequence[int]) -> int:
    """The gravest of exit codes; 0 of none."""
    return max(codes, key=GRAVITY.index, default=0)
