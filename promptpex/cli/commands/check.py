"""``promptpex check``: the deterministic assertions alone, on outputs that are already there."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.translation import from_data, tr, tr_n

if TYPE_CHECKING:
    from promptpex.assertions.assertion_file import CheckFile
    from promptpex.assertions.batch import Reports
    from promptpex.assertions.rows_to_check import CheckRow
    from promptpex.config import Settings


@click.command("check", cls=Command)
@click.argument("files", nargs=-1, required=True, type=options.PATH, metavar="FILE...")
@options.of_cases(
    "--assertions", type=options.PATH, metavar="FILE", help="A spec, or promptfoo's assert list, as YAML or JSON."
)
@options.of_files("-o", "--out", type=options.PATH, metavar="FILE", help="File to write, instead of stdout.")
@options.of_output(
    "--format",
    "shape",
    type=click.Choice(["table", "csv", "json", "junit"]),
    default="table",
    help="[table] json: a JSON line a row, as with --json.",
)
@options.of_cases(
    "--put-up",
    type=options.PATH,
    metavar="PROMPT",
    help="Queue a sample of the outputs for grading, as PROMPT's.",
)
@options.of_cases(
    "--per-day", type=options.COUNT, metavar="N", help="Queue at most N outputs of each day, by the row's time [20]."
)
@options.of_output("--fail-unscored", is_flag=True, help="Exit 1 also when a row could not be judged.")
@options.of_judging("-j", "--judge", metavar="NAME", help="Judge that answers the questions of checks [none].")
@options.request_options
@options.engine_options
@options.settings_options
@options.session_output_options
def command(
    files: tuple[Path, ...],
    assertions: Path | None,
    shape: str,
    as_json: bool,
    out: Path | None,
    put_up: Path | None,
    per_day: int | None,
    fail_unscored: bool,
    **flags: Any,
) -> int:
    """Check outputs in files by assertions alone.

    FILE holds JSON lines, CSV (either may be gzipped, .gz) or Parquet; or it is a quoted pattern such as
    'logs/*.jsonl.gz', a run (its folder, id or name, or latest), or - for JSON lines on stdin. Rows without
    assertions are checked by --assertions, those of a run by its spec. Exit code 1 if a row fails.
    \f
    A row is {id, output, assert: [...], vars, cost, latency_ms, logprobs, finish_reason, threshold}; all but the output
    may be left out. With --json each row gives a JSON object on a line of its own.

    Rows are checked where --engine says, by --workers processes, at most one per CPU.

    Checks that put questions (`question`, `python` with `ask`) are unscored unless --judge names a model that answers;
    the other options about requests, settings and the store are for that judge.

    With --put-up PROMPT a random sample of each day goes to PROMPT.synthesis/, for `promptpex grade PROMPT`; reading
    the log again takes the same outputs. Rows without assertions are then checked by PROMPT's spec, if it has checks.
    """
    from promptpex.assertions import batch
    from promptpex.assertions.rows_to_check import read_all

    quiet, judged = bool(flags["quiet"]), flags["judge"] is not None
    settings = _settings(flags, judged=judged)
    sources = _sources(files, settings)
    folder = sources[0] if sources[0].is_dir() else None
    rows = read_all(sources)
    sample = _Sample.of(put_up, per_day)
    checks = _checks(folder, sample.assertions(folder, assertions), quiet)
    rows = sample.watch(rows, checks)
    counts: Counter[str] = Counter()
    local_sources = [] if put_up else sources
    with _judged(folder, rows, checks, flags) if judged else _by_code(rows, local_sources, checks, settings) as checked:
        reports = _counted(checked, counts)
        _write(batch.FORMATS["json" if as_json else shape](reports), out)
    sample.put_up(quiet)
    if not quiet:
        _say_counts(counts)
    return 1 if counts["fail"] or (fail_unscored and counts["unscored"]) else 0


def _file_or_run(named: Path, settings: Settings) -> Path:
    """What is named: a file or folder that is there, or the folder of the run that is called so."""
    from promptpex.core.errors import RunError
    from promptpex.report import runs

    if str(named) == "-" or named.exists():
        return named
    try:
        return runs.resolve(named, Path(settings.results))
    except RunError:
        if named.name.partition("~")[0] == runs.LATEST:
            raise
        return named


STATUSES = ("pass", "fail", "unscored")
_OPEN = "needs a judge"


def _sources(named: Iterable[Path], settings: Settings) -> list[Path]:
    """The files that are meant, each once: those of a pattern in the order of their names; or a run's folder."""
    from promptpex.core.errors import CheckError
    from promptpex.promptfile.find_prompts import is_pattern, paths_that_fit

    chosen: dict[str, Path] = {}
    for one in named:
        fitting = (
            [path for path in paths_that_fit(one) if path.is_file()]
            if is_pattern(one)
            else [_file_or_run(one, settings)]
        )
        if not fitting:
            raise CheckError("no file fits this pattern", path=one)
        for path in fitting:
            chosen.setdefault(os.path.realpath(path), path)
    sources = list(chosen.values())
    if len(sources) > 1 and any(str(path) == "-" or path.is_dir() for path in sources):
        raise click.UsageError("a run's folder, and stdin, are checked alone; name no other file beside them")
    return sources


class _Sample:
    """What is put up for grading of the rows that are read, if anything is."""

    def __init__(self, prompt: Path | None, per_day: int) -> None:
        from promptpex.workflow.production_sample import production_sample

        self._prompt = prompt
        self._taken = None if prompt is None else production_sample(prompt, per_day, datetime.now(UTC))

    @classmethod
    def of(cls, prompt: Path | None, per_day: int | None) -> _Sample:
        """The sample that the options ask for."""
        from promptpex.workflow.production_sample import PER_DAY

        if prompt is None and per_day is not None:
            raise click.UsageError("--per-day says how many outputs --put-up PROMPT puts up; give that, too")
        return cls(prompt, per_day or PER_DAY)

    def assertions(self, folder: Path | None, given: Path | None) -> Path | None:
        """The file of assertions: the given one, else the prompt's spec where a file of rows is put up."""
        from promptpex.workflow.production_sample import checks_of_prompt

        return given if given or self._prompt is None or folder is not None else checks_of_prompt(self._prompt)

    def watch(self, rows: Iterator[CheckRow], checks: CheckFile | None) -> Iterator[CheckRow]:
        return rows if self._taken is None else self._taken[0].watch(rows, only_checked=checks is None)

    def put_up(self, quiet: bool) -> None:
        """Keeps the sample, and says what it is."""
        if self._taken is None or self._prompt is None:
            return
        sample, folder = self._taken
        made = sample.put_up(folder, self._prompt)
        if not quiet:
            how = tr("to grade them: {command}", command=f"promptpex grade {self._prompt}")
            say(f"{folder.examples}: {made.sentence()}; {how}", err=True)
            if made.notice:
                say(f"promptpex: {made.notice}", err=True)


def _settings(flags: Mapping[str, Any], *, judged: bool) -> Settings:
    """The settings; options that would do nothing are refused."""
    from promptpex.cli.command_session import settings

    idle = [name for name, value in flags.items() if value not in (None, False) and name not in _NOT_FOR_A_JUDGE]
    if idle and not judged:
        raise click.UsageError(f"--{idle[0].replace('_', '-')} is for the judge; name one with --judge")
    resolved = settings(flags)
    several = (resolved.settings.workers or 1) > 1 or resolved.settings.engine != "local"
    if judged and several and any(resolved.given(name) for name in _PLACES):
        raise click.UsageError("--judge goes with one process: leave out --workers and --engine")
    return resolved.settings


_PLACES = ("engine", "workers", "address")
_NOT_FOR_A_JUDGE = ("judge", "quiet", "config", "no_config", "report_language", *_PLACES)
"""The settings files may say where checks run; the rest of them is for the judge."""


@contextmanager
def _by_code(
    rows: Iterator[CheckRow], files: list[Path], checks: CheckFile | None, settings: Settings
) -> Iterator[Reports]:
    """The reports of rows as they come, without a judge; ``files`` may be read by another process."""
    from promptpex.cli.command_session import interrupts
    from promptpex.engines import as_they_come, open_engine
    from promptpex.workflow.checks import reports_by_code

    with (
        interrupts(),
        open_engine(settings.engine, workers=settings.workers, address=settings.address) as engine,
        as_they_come(reports_by_code(engine, checks, rows, files)) as reports,
    ):
        yield chain.from_iterable(reports)


@contextmanager
def _judged(
    folder: Path | None, rows: Iterable[CheckRow], checks: CheckFile | None, flags: Mapping[str, Any]
) -> Iterator[Reports]:
    from promptpex.cli.command_session import work
    from promptpex.workflow.checks import prompt_of_run, reports_with_judge

    prompt = prompt_of_run(folder) if folder is not None else None
    yield iter(work(flags, lambda session: reports_with_judge(session, rows, checks, prompt)))


def _checks(folder: Path | None, assertions: Path | None, quiet: bool) -> CheckFile | None:
    """The assertions for rows that bring none: those of a file, else of the run whose folder is checked."""
    from promptpex.assertions import assertion_file

    if assertions is not None:
        checks = assertion_file.read(assertions)
    elif folder is not None:
        checks = assertion_file.of_run(folder)
    else:
        return None
    for warning in checks.compiled.warnings if not quiet else ():
        say(f"promptpex: {from_data(warning)}", err=True)
    return checks


def _counted(reports: Reports, counts: Counter[str]) -> Reports:
    for each in reports:
        counts[each.report.status] += 1
        counts[_OPEN] += bool(each.report.questions)
        yield each


def _say_counts(counts: Mapping[str, int]) -> None:
    say(", ".join(f"{counts[status]} {from_data(status)}" for status in STATUSES), err=True)
    if counts[_OPEN]:
        waiting = tr_n(
            "{count} row has questions that a judge has to answer; name one with --judge",
            "{count} rows have questions that a judge has to answer; name one with --judge",
            counts[_OPEN],
        )
        say(f"promptpex: {waiting}", err=True)


def _write(texts: Iterable[str], out: Path | None) -> None:
    if out is None:
        for text in texts:
            sys.stdout.write(text)
        sys.stdout.flush()
        return
    from promptpex.codecs.files.ordinary_files import created
    from promptpex.core.errors import CheckError

    try:
        with os.fdopen(created(out), "w", encoding="utf-8", newline="") as file:
            file.writelines(texts)
    except OSError as error:
        raise CheckError(f"the file cannot be written ({error.strerror})", path=out) from error
