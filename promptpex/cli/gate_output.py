"""Printing what a gate decided: for people, for programs, and for CI systems."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptpex.cli.output import data, print_json, say

if TYPE_CHECKING:
    from promptpex.report.gate_result import GatedModel, GateResult

LAYOUTS = ("text", "json", "markdown", "github", "junit")

STEP_SUMMARY, WORKSPACE = "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"
"""Variables of GitHub Actions: the file of the step's summary, and the folder of the checkout."""


def print_result(result: GateResult, layout: str) -> None:
    """Prints a gate's result in one of the ``LAYOUTS``."""
    from promptpex.report import gate_formats

    if layout == "json":
        models = {model.label: list(model.exceeded) for model in result.models}
        subset = {"subset": result.subset.to_dict()} if result.subset else {}
        baseline = {"baseline": result.baseline.to_dict()} if result.baseline else {}
        print_json({"run": result.run, "passed": not result.failing, "models": models, **subset, **baseline})
    elif layout == "markdown":
        click.echo(data(gate_formats.markdown(result)), nl=False)
    elif layout == "junit":
        click.echo(data(gate_formats.junit(result)), nl=False)
    elif layout == "github":
        _for_github(result)
    else:
        for model in result.models:
            say(f"FAIL  {model.label}: {'; '.join(model.exceeded)}" if model.exceeded else _passed(model))
    if layout != "github":
        for note in result.notes:
            say(note, err=True)


def _passed(model: GatedModel) -> str:
    return f"pass  {model.label}: {model.figures}"


def _for_github(result: GateResult) -> None:
    """Prints annotations, and adds to the summary of the step."""
    from promptpex.codecs.ordinary_files import created
    from promptpex.report import gate_formats

    for line in gate_formats.annotation_lines(result, Path(os.environ.get(WORKSPACE) or Path.cwd())):
        click.echo(line)
    file = os.environ.get(STEP_SUMMARY)
    if not file:
        return
    try:
        with os.fdopen(created(Path(file), append=True), "a", encoding="utf-8") as summary:
            summary.write(f"{gate_formats.markdown(result)}\n")
    except OSError as error:
        say(f"promptpex: the summary of the step cannot be written ({error.strerror})", err=True)
