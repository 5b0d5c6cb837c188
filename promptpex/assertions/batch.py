"""Checking many outputs: rows in chunks, as a job that runs in this process or in others."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from promptpex.assertions import compiler, evaluator
from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.model import CheckedOutput, CheckReport, ExpectedOutput, Unscorable
from promptpex.assertions.rows_to_check import CheckRow, as_text
from promptpex.assertions.time_limits import check_time, each_verdict, time_of
from promptpex.core.chunks import in_groups
from promptpex.core.errors import CheckError
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored

CHUNK = 256
"""Outputs whose patterns are matched in one call: enough that the calls do not count, few enough for memory."""
CHUNK_CHARACTERS = 4_000_000
"""Characters of a chunk's lines after which it ends: long outputs fill memory, a few at a time."""


class RowReport(NamedTuple):
    """A row's id, any JSON value, and what its assertions come to."""

    row_id: object
    report: CheckReport

    def __reduce__(self) -> tuple[object, ...]:
        """As ``CheckRow``'s."""
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
    """That none of the tests of a file is about a row, where it is so."""
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
