"""``promptpex export``: our suites and runs in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import data, say

if TYPE_CHECKING:
    from promptpex.core.records import Prompt, Run, Spec, Suite

FORMATS = ("csv", "jsonl", "promptfoo", "junit")


@click.command("export", cls=Command)
@click.argument("shape", metavar="FORMAT", type=click.Choice(FORMATS))
@click.argument("source", metavar="RUN|SUITE", type=click.Path(path_type=Path))
@options.of_models("-m", "--models", metavar="NAMES", help="promptfoo: its providers [those of the run].")
@options.of_cases("--rubrics", is_flag=True, help="promptfoo: llm-rubric assertions for what no check decides.")
@options.of_files("-o", "--out", type=options.PATH, metavar="FILE", help="File to write, instead of stdout.")
@options.results_beside_out
@options.settings_options
@options.output_options
def command(
    shape: str, source: Path, out: Path | None, models: str | None, rubrics: bool, as_json: bool, **flags: Any
) -> int:
    """Write a run or cases in the format of another tool.

    The source is RUN (a run's folder or id) or SUITE (a case file).

    \b
    csv, jsonl   the cases; `promptpex import` reads them back
    promptfoo    prompt, cases and checks as a promptfooconfig.yaml; prompt and
                 spec of a suite are read from the same folder
    junit        a run's verdicts as JUnit XML, for CI
    """
    from promptpex.cli.output import print_json

    if as_json and out is None:
        raise click.UsageError("--json goes with --out FILE: what is exported is what stdout shows")
    text, notes = _text(shape, source, models, rubrics, flags)
    for note in notes if not flags.get("quiet") else ():
        say(f"note: {note}", err=True)
    if out is None:
        click.echo(data(text), nl=False)
        return 0
    from promptpex.codecs.atomic import write_text
    from promptpex.core.errors import InputError

    try:
        write_text(out, text)
    except OSError as failure:
        raise InputError(f"cannot be written ({failure.strerror}); name another file with --out", path=out) from None
    if as_json:
        print_json({"out": str(out), "left_out": list(notes)})
    elif not flags.get("quiet"):
        say(f"written: {out}")
    return 0


def _text(
    shape: str, source: Path, models: str | None, rubrics: bool, flags: dict[str, Any]
) -> tuple[str, tuple[str, ...]]:
    if shape == "junit":
        from promptpex.interchange import junit

        return junit.text(_run(source, flags)), ()
    if shape == "promptfoo":
        from promptpex.interchange import promptfoo

        prompt, spec, suite, known = _parts(source, flags)
        named = [one.strip() for one in models.split(",") if one.strip()] if models else known
        made = promptfoo.config(prompt, spec, suite, models=named, rubrics=rubrics)
        return made.text, made.left_out
    from promptpex.cases.suite_tables import csv_rows, jsonl_text
    from promptpex.codecs.safe_csv import dumps

    suite = _suite(source, flags)
    return (dumps(csv_rows(suite)) if shape == "csv" else jsonl_text(suite)), ()


def _is_suite(source: Path) -> bool:
    return source.is_file() and source.suffix.lower() in (".yaml", ".yml", ".json", ".csv", ".jsonl", ".ndjson")


def _run(source: Path, flags: dict[str, Any]) -> Run:
    from promptpex.cli.runner import settings
    from promptpex.report import runs

    return runs.read(runs.resolve(source, Path(settings(flags).settings.results)))


def _suite(source: Path, flags: dict[str, Any]) -> Suite:
    from promptpex.cases.file import read_suite

    return read_suite(source) if _is_suite(source) else _run(source, flags).suite


def _parts(source: Path, flags: dict[str, Any]) -> tuple[Prompt, Spec, Suite, list[str]]:
    """Prompt, spec, suite and models: a run's own, or what stands beside a case file."""
    if not _is_suite(source):
        run = _run(source, flags)
        return run.prompt, run.spec, run.suite, list(run.manifest.models)
    from promptpex import promptfile
    from promptpex.cases.file import read_suite
    from promptpex.codecs.ordinary_files import inside
    from promptpex.core.errors import SuiteError
    from promptpex.specs.file import read_spec
    from promptpex.workflow.project import files_of

    suite = read_suite(source)
    named = inside(source.parent, suite.prompt, error=SuiteError, what="prompt", path=source)
    files = files_of(named)
    return promptfile.read(files.prompt), read_spec(files.spec), suite, []
