"""Printing what a gate decided: for people, for programs, and for CI systems."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli.output import data, print_json, say
from promptpex.core.translation import from_data, tr

if TYPE_CHECKING:
    from promptpex.report.gate_result import GateResult

LAYOUTS = ("text", "json", "markdown", "github", "junit")

STEP_SUMMARY, OUTPUT, WORKSPACE = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE"
"""Variables of GitHub Actions: the files of the step's summary and of its outputs, and the folder of the checkout."""


def print_results(
    results: Sequence[GateResult], layout: str, *, several: bool = False, problems: Mapping[str, str] | None = None
) -> None:
    """Prints what a gate decided, in one of the ``LAYOUTS``.

    Args:
        several: whether it may have been more than the one result.
        problems: why nothing could be decided about prompts, by their files.
    """
    from promptpex.report import gate_formats

    problems = problems or {}
    if layout == "json":
        print_json(_several_to_dict(results, problems) if several else _to_dict(results[0]))
    elif layout == "markdown":
        click.echo(data(_markdown(results, problems, several=several)), nl=False)
    elif layout == "junit":
        click.echo(data(gate_formats.junit(results, problems)), nl=False)
    elif layout == "github":
        _for_github(results, problems, several=several)
    else:
        for result in results:
            _print_lines(result, f"{result.prompt}: " if several else "")
        for prompt, problem in problems.items():
            say(f"{tr('none')}  {prompt}: {problem}")
    if layout != "github":
        for result in results:
            for note in result.notes:
                say(f"{result.prompt}: {note}" if several else note, err=True)


def _markdown(results: Sequence[GateResult], problems: Mapping[str, str], *, several: bool) -> str:
    from promptpex.report import gate_formats

    return gate_formats.markdown_of_all(results, problems) if several else gate_formats.markdown(results[0])


def _print_lines(result: GateResult, before: str) -> None:
    words = {"fail": tr("FAIL"), "cannot tell": tr("cannot tell"), "pass": from_data("pass")}
    for model in result.models:
        say(f"{words[model.outcome]}  {before}{model.label}: {model.words}")


def _to_dict(result: GateResult) -> dict[str, Any]:
    models = {model.label: list(model.exceeded) for model in result.models}
    untold = {model.label: list(model.untold) for model in result.models if model.untold}
    subset = {"subset": result.subset.to_dict()} if result.subset else {}
    baseline = {"baseline": result.baseline.to_dict()} if result.baseline else {}
    decided = {"passed": result.outcome == "pass", "outcome": result.outcome, "models": models, "cannot_tell": untold}
    return {"run": result.run, **decided, **subset, **baseline}


def _several_to_dict(results: Sequence[GateResult], problems: Mapping[str, str]) -> dict[str, Any]:
    runs = [{"prompt": result.prompt, **_to_dict(result)} for result in results]
    return {"passed": not problems and all(run["passed"] for run in runs), "runs": runs, "problems": dict(problems)}


def _for_github(results: Sequence[GateResult], problems: Mapping[str, str], *, several: bool) -> None:
    """Prints annotations, and adds to the summary and the outputs of the step."""
    from promptpex.report import gate_formats
    from promptpex.report.gate_result import gravest

    root = Path(os.environ.get(WORKSPACE) or Path.cwd())
    for line in chain(
        chain.from_iterable(gate_formats.annotation_lines(result, root, several=several) for result in results),
        gate_formats.problem_lines(problems, root),
    ):
        click.echo(line)
    worst = gravest(result.outcome for result in results)
    _append(STEP_SUMMARY, _markdown(results, problems, several=several))
    _append(OUTPUT, f"outcome={'none' if problems else worst}")


def _append(variable: str, text: str) -> None:
    """Adds to a file that a variable of GitHub Actions names, where it is set."""
    from promptpex.codecs.files.ordinary_files import created

    file = os.environ.get(variable)
    if not file:
        return
    try:
        with os.fdopen(created(Path(file), append=True), "a", encoding="utf-8") as lines:
            lines.write(f"{text}\n")
    except OSError as error:
        say(f"promptpex: {variable} cannot be written ({error.strerror})", err=True)
