"""Checking many outputs: rows in chunks, as a job in this process or in others, and what ``promptpex check`` prints.

One process reads the files, since what gzip has packed and CSV cannot be entered in the middle. It only finds where
rows end; whoever checks a part makes rows of it, which takes ten times as long.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from promptpex.assertions import compiler, evaluator
from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.model import CheckedOutput, CheckReport, CheckResult, ExpectedOutput, Status, Unscorable
from promptpex.assertions.rows_to_check import (
    CSV,
    LONGEST_LINE,
    PARQUET,
    WHAT,
    CheckRow,
    as_text,
    csv_cells,
    csv_row,
    has_ending,
    json_rows,
    named_apart,
    parquet_lines,
)
from promptpex.assertions.time_limits import check_time, each_verdict, time_of
from promptpex.codecs import jsonl
from promptpex.codecs.safe_csv import CsvRow
from promptpex.codecs.text.control_characters import visible
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut
from promptpex.core.errors import CheckError
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import digits, from_data, stored, tr

if TYPE_CHECKING:
    from promptpex.codecs.ci_reports import JUnitCase, Outcome


T = TypeVar("T")


def in_groups(
    items: Iterable[T],
    most: int,
    *,
    size: Callable[[T], int] = lambda _: 0,
    most_size: int = 0,
) -> Iterator[list[T]]:
    """The items in order, some at a time; where taking one fails, those before it and then the error."""
    group, total = list[T](), 0
    failure: Exception | None = None
    try:
        for item in items:
            group.append(item)
            total += size(item)
            if len(group) >= most or total > most_size:
                yield group
                group, total = [], 0
    except Exception as error:
        failure = error
    if group:
        yield group
    if failure is not None:
        raise failure


CHUNK = 256
"""Outputs whose patterns are matched in one call: enough that the calls do not count, few enough for memory."""
CHUNK_CHARACTERS = 4_000_000
"""Characters of a chunk's lines after which it ends: long outputs fill memory, a few at a time."""


class RowReport(NamedTuple):
    """A row's id, any JSON value, and what its assertions come to."""

    row_id: object
    report: CheckReport

    def __reduce__(self) -> tuple[object, ...]:
        return _received, (json.dumps(self.row_id), self.report)


def _received(row_id: str, report: CheckReport) -> RowReport:
    return RowReport(json.loads(row_id), report)


def chunks(rows: Iterable[CheckRow]) -> Iterator[list[CheckRow]]:
    """The rows in order, some at a time; where reading them fails, those before it and then the error."""
    return in_groups(rows, CHUNK, size=lambda row: row.length, most_size=CHUNK_CHARACTERS)


@dataclass(frozen=True, slots=True)
class RowCheckJob:
    """The job of checking chunks of rows by the assertions of a file, and then by their own.

    Each place where it runs compiles the assertions, has a V8 of its own, and a clock for the rows that it checks.
    """

    checks: CheckFile | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[Sequence[CheckRow]], Awaitable[list[RowReport]]]]:
        """The function of a chunk.

        It raises:
            CheckError: a row without assertions, where no file gives any.
        """
        of_the_file = len(self.checks.compiled.steps) if self.checks is not None else 0
        time_of_all = time_of(of_the_file)

        async def reports_on(rows: Sequence[CheckRow]) -> list[RowReport]:
            own = max(len(row.asserts) if isinstance(row.asserts, list) else 0 for row in rows)
            time_of_all.each = each_verdict(of_the_file + own)
            return _reports(rows, self.checks, time_of_all)

        yield reports_on


def _reports(rows: Sequence[CheckRow], checks: CheckFile | None, time_of_all: Allowance) -> list[RowReport]:
    chosen = [None if checks is None else checks.for_row(row.vars) for row in rows]
    problems = [row.problem or _no_test(checks, row_checks) for row, row_checks in zip(rows, chosen, strict=True)]
    with check_time(time_of_all):
        sound = [(row, mine) for row, mine, why in zip(rows, chosen, problems, strict=True) if why is None]
        evaluated = iter(evaluator.evaluate_many([_evaluation(row, mine) for row, mine in sound]))
    reports = (next(evaluated) if why is None else _unscored(why) for why in problems)
    return [RowReport(row.id, report) for row, report in zip(rows, reports, strict=True)]


def _no_test(checks: CheckFile | None, mine: CheckFile | None) -> Unscorable | None:
    if checks is None or mine is not None:
        return None
    return Unscorable("no-test", stored("no test of the file has the variables of this row"))


def _evaluation(row: CheckRow, checks: CheckFile | None) -> tuple[compiler.Compiled, CheckedOutput, float | None]:
    return _compiled(row, checks), _checked_output(row, checks), _threshold(row, checks)


def _compiled(row: CheckRow, checks: CheckFile | None) -> compiler.Compiled:
    if row.asserts is None:
        if checks is None:
            message = "the row has no assertions; give --assertions FILE, or a list under assert in the row"
            raise CheckError(message, path=row.file, line=row.line)
        return checks.compiled
    own = compiler.prepare(row.asserts)
    return own if checks is None else compiler.Compiled((*checks.compiled.steps, *own.steps))


def _checked_output(row: CheckRow, checks: CheckFile | None) -> CheckedOutput:
    asserts = [*(checks.raw if checks is not None else ()), *(row.asserts or ())]
    variables = {**checks.vars, **row.vars} if checks is not None else row.vars
    expected = _expected(row, variables)
    return evaluator.checked_output(
        row.output, variables, asserts=asserts, expected=expected, answers=row.answers, **row.measured
    )


def _expected(row: CheckRow, given: Mapping[str, object]) -> ExpectedOutput | None:
    """The expected output of the row, else the variable of this name."""
    named = given.get("expected")
    text = row.expected if row.expected is not None or named is None else as_text(named)
    return None if text is None else ExpectedOutput(text, row.match, row.also_right)


def _threshold(row: CheckRow, checks: CheckFile | None) -> float | None:
    if row.threshold is not None or checks is None:
        return row.threshold
    return checks.threshold


def _unscored(problem: Unscorable) -> CheckReport:
    return CheckReport("unscored", None, problem.message, problem.code)


PART_BYTES = 1 << 18
"""Bytes after which a part ends."""
PART_ROWS = 256
"""Rows of a part: some hundredths of a second's work where assertions are cheap."""


class RowPart(Protocol):
    """Some rows of a file, as they were found in it."""

    def rows(self) -> Iterator[CheckRow]:
        """The rows.

        Raises:
            CheckError: one of them is wrong, after those before it.
        """


@dataclass(frozen=True, slots=True)
class LinePart:
    """Lines of JSON, the first of them with this number."""

    path: Path
    first: int
    lines: Sequence[bytes]

    def rows(self) -> Iterator[CheckRow]:
        lines = (jsonl.RawLine(number, data, 0, True) for number, data in enumerate(self.lines, self.first))
        return json_rows(jsonl.values(lines, self.path, CheckError, lenient=True), self.path, {})


@dataclass(frozen=True, slots=True)
class CsvPart:
    """Cells of CSV below a head."""

    path: Path
    head: list[str]
    cells: Sequence[CsvRow]

    def rows(self) -> Iterator[CheckRow]:
        return (csv_row(self.head, row, self.path) for row in self.cells)


@dataclass(frozen=True, slots=True)
class _NamedApart:
    """A part of one of several files, whose rows are called after it."""

    part: RowPart
    path: Path

    def rows(self) -> Iterator[CheckRow]:
        return named_apart(self.part.rows(), self.path)


def file_parts(files: Sequence[Path]) -> Iterator[RowPart]:
    """The parts of files, one after the other.

    Raises:
        CheckError: a file cannot be read any further, after the parts before it.
    """
    for file in files:
        for part in _parts(file):
            yield _NamedApart(part, file) if len(files) > 1 else part


def _parts(file: Path) -> Iterator[RowPart]:
    if has_ending(file, CSV):
        for rows in _grouped(csv_cells(file), lambda row: sum(map(len, row[1].cells))):
            yield CsvPart(file, rows[0][0], [row for _, row in rows])
    else:
        lines = jsonl.raw_lines(file, what=WHAT, error=CheckError, longest=LONGEST_LINE)
        if has_ending(file, PARQUET):
            lines = parquet_lines(file)
        for group in _grouped(lines, lambda line: len(line.data)):
            yield LinePart(file, group[0].number, [line.data for line in group])


def _grouped(items: Iterator[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    return in_groups(items, PART_ROWS, size=size, most_size=PART_BYTES)


class Checked(NamedTuple):
    """What comes of a part of a file, or of a chunk of rows: the reports of its rows, in order, and what is wrong with
    the row after them, which ends the command."""

    reports: list[RowReport]
    error: CheckError | None = None


ReportsOn = Callable[[Sequence[CheckRow]], Awaitable[list[RowReport]]]


@dataclass(frozen=True, slots=True)
class PartCheckJob:
    """The job of checking parts of files, or chunks of rows, by the assertions of a file and then by their own."""

    checks: CheckFile | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[RowPart | Sequence[CheckRow]], Awaitable[Checked]]]:
        """The function of a part or a chunk; it raises nothing that a row or a file is to blame for."""
        async with RowCheckJob(self.checks).open() as reports_on:

            async def checked(item: RowPart | Sequence[CheckRow]) -> Checked:
                rows = item if isinstance(item, Sequence) else item.rows()
                return await _checked(rows, reports_on)

            yield checked


async def _checked(rows: Iterable[CheckRow], reports_on: ReportsOn) -> Checked:
    """The reports of all rows, or of those before the first that cannot be checked as it is written."""
    reports: list[RowReport] = []
    try:
        for chunk in chunks(rows):
            try:
                reports += await reports_on(chunk)
            except CheckError as error:
                at = next((at for at, row in enumerate(chunk) if (row.file, row.line) == (error.path, error.line)), 0)
                reports += await reports_on(chunk[:at]) if at else []
                raise
    except CheckError as error:
        return Checked(reports, error)
    return Checked(reports)


Reports = Iterable[RowReport]
Writer = Callable[[Reports], Iterator[str]]


def json_lines(reports: Reports) -> Iterator[str]:
    for row_id, report in reports:
        yield jsonl.dumps(report.to_dict(row_id), allow_nan=True) + "\n"


def table(reports: Reports) -> Iterator[str]:
    """A row an output: id, status, score, reason; on a terminal a line each. Control characters are shown as U+FFFD."""
    wide = max(_STATUS, *(len(from_data(status)) for status in _OUTCOMES))
    head, width = f"{'id':<24}  {tr('status'):<{wide}}  {tr('score'):>6}  {tr('reason')}\n", _reason_width(wide)
    for row_id, report in reports:
        score = "" if report.score is None else digits(f"{report.score:.3f}")
        reason = _cell(from_data(report.reason), width)
        yield f"{head}{_cell(row_id, 24):<24}  {from_data(report.status):<{wide}}  {score:>6}  {reason}\n"
        head = ""
    yield head


_MIN_REASON, _MAX_REASON = 20, 100
"""Characters of a reason, however narrow or wide the terminal is."""
_STATUS = 8
"""Characters of a status at least."""
_OTHER_COLUMNS = 36
"""Characters of id and score, with the blanks between all columns."""


def _reason_width(status: int) -> int:
    """How many characters of a reason are shown: what a terminal has left after the other columns."""
    if not sys.stdout.isatty():
        return _MAX_REASON
    return min(max(shutil.get_terminal_size().columns - _OTHER_COLUMNS - status - 1, _MIN_REASON), _MAX_REASON)


def _cell(value: object, width: int) -> str:
    text = visible(" ".join(str(value).split()))
    return cut(text, width)


_HEAD = ("id", "status", "score", "unscored", "reason", "assertion", "kind", "assertion_status", "assertion_score")
_TAIL = ("assertion_unscored", "assertion_reason", "metric", "weight")


def csv_rows(reports: Reports) -> Iterator[str]:
    """A row an assertion, the row's own verdict repeated; no cell that a spreadsheet would run."""
    from promptpex.codecs import safe_csv

    yield safe_csv.dumps([[*_HEAD, *_TAIL]])
    for row_id, report in reports:
        head = [value_text(row_id), report.status, _number(report.score), report.unscored or "", report.reason]
        lines = [[*head, *_assertion(place, result)] for place, result in _flat(report.results)]
        yield safe_csv.dumps(_clean(lines or [[*head, *[""] * (len(_HEAD) + len(_TAIL) - len(head))]]))


def _clean(lines: list[list[str]]) -> list[list[str]]:
    return [[visible(cell) for cell in line] for line in lines]


def _assertion(place: str, result: CheckResult) -> list[str]:
    verdict = [result.status, _number(result.score), result.unscored or "", result.reason]
    return [place, result.kind, *verdict, result.metric or "", _number(result.weight)]


def _flat(results: Iterable[CheckResult], before: str = "") -> Iterator[tuple[str, CheckResult]]:
    for number, result in enumerate(results, 1):
        yield f"{before}{number}", result
        yield from _flat(result.parts, f"{before}{number}.")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def junit(reports: Reports) -> Iterator[str]:
    """JUnit XML: a case a row; failures fail, unscored rows are errors."""
    from promptpex.codecs.ci_reports import junit_document

    yield from junit_document([("promptpex check", (_junit_case(row_id, report) for row_id, report in reports))])


def _junit_case(row_id: object, report: CheckReport) -> JUnitCase:
    from promptpex.codecs.ci_reports import JUnitCase

    reasons = (f"{place} {result.kind}: {result.status}: {result.reason}" for place, result in _flat(report.results))
    return JUnitCase(
        classname="promptpex.check",
        name=value_text(row_id),
        outcome=_OUTCOMES[report.status],
        kind=report.unscored or "assertion",
        message=report.reason,
        details="\n".join(reasons),
    )


_OUTCOMES: dict[Status, Outcome] = {"pass": "pass", "fail": "failure", "unscored": "error"}

FORMATS: dict[str, Writer] = {"table": table, "csv": csv_rows, "json": json_lines, "junit": junit}
