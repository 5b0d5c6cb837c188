"""``promptpex check``: the deterministic assertions alone, on outputs that are already there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from promptpex.cli.sanitize import say

if TYPE_CHECKING:
    from promptpex.assertions.check_file import CheckFile
    from promptpex.assertions.model import CheckReport
    from promptpex.assertions.rows import Row


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--assertions", type=click.Path(path_type=Path), help="YAML or JSON: promptfoo's assert list, or a spec.")
@click.option(
    "--format", "shape", type=click.Choice(["table", "csv", "json", "junit"]), default="table", help="[table]"
)
@click.option("--json", "as_json", is_flag=True, help="One JSON line a row; the same as --format json.")
@click.option("--out", type=click.Path(path_type=Path), help="Write there instead of to stdout.")
@click.option("--fail-unscored", is_flag=True, help="Exit 1 also when a row could not be judged.")
@click.option("-q", "--quiet", is_flag=True, help="No summary and no notices on stderr.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show a traceback on errors.")
def command(
    file: Path,
    assertions: Path | None,
    shape: str,
    as_json: bool,
    out: Path | None,
    fail_unscored: bool,
    quiet: bool,
) -> int:
    """Check the outputs in FILE: JSON lines, CSV, a run's folder, or - for JSON lines on stdin.

    A row is {id, output, assert: [...], vars, cost, latency_ms, logprobs, finish_reason, threshold}; all but the
    output may be left out, the assertions then come from --assertions, for a run's folder from the spec that it keeps.
    Exit code 1 when a row fails.
    """
    from promptpex.assertions import batch, formatters
    from promptpex.assertions.rows import read

    rows = read(file)
    checks = _checks(file, assertions, quiet)
    counts = {"pass": 0, "fail": 0, "unscored": 0}
    judged = _counted(_placed(batch.reports(rows, checks), file), counts)
    _write(formatters.FORMATS["json" if as_json else shape](judged), out)
    if not quiet:
        click.echo(f"{counts['pass']} pass, {counts['fail']} fail, {counts['unscored']} unscored", err=True)
    return 1 if counts["fail"] or (fail_unscored and counts["unscored"]) else 0


def _checks(file: Path, assertions: Path | None, quiet: bool) -> CheckFile | None:
    """The assertions for rows that bring none: those of a file, else of the run whose folder is checked."""
    from promptpex.assertions import check_file

    if assertions is None and not file.is_dir():
        return None
    found = check_file.of_run(file) if assertions is None else check_file.read(assertions)
    for warning in found.compiled.warnings if not quiet else ():
        say(f"promptpex: {warning}", err=True)
    return found


def _placed(judged: Iterable[tuple[Row, CheckReport]], file: Path) -> Iterator[tuple[Row, CheckReport]]:
    """The same, errors of rows with the file's name."""
    from promptpex.core.errors import CheckError

    try:
        yield from judged
    except CheckError as error:
        raise error if error.path is not None else CheckError(error.message, path=file, line=error.line) from error


def _counted(judged: Iterable[tuple[Row, CheckReport]], counts: dict[str, int]) -> Iterator[tuple[Row, CheckReport]]:
    for row, report in judged:
        counts[report.status] += 1
        yield row, report


def _write(texts: Iterable[str], out: Path | None) -> None:
    if out is None:
        for text in texts:
            sys.stdout.write(text)
        sys.stdout.flush()
        return
    from promptpex.codecs.ordinary_files import created
    from promptpex.core.errors import CheckError

    try:
        with os.fdopen(created(out), "w", encoding="utf-8", newline="") as file:
            file.writelines(texts)
    except OSError as error:
        raise CheckError(f"the file cannot be written ({error.strerror})", path=out) from error
