"""Checking a file of outputs: rows in, reports out, in order, a bounded number of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from promptpex.assertions import compiler, evaluator
from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.model import CheckedOutput, CheckReport, ExpectedOutput
from promptpex.assertions.rows_to_check import CheckRow, as_text
from promptpex.assertions.time_limits import check_time, each_verdict, time_of
from promptpex.core.errors import CheckError

CHUNK = 256
"""Outputs whose patterns are matched in one call: enough that the calls do not count, few enough for memory."""


def reports(rows: Iterable[CheckRow], checks: CheckFile | None = None) -> Iterator[tuple[CheckRow, CheckReport]]:
    """Each row with what its assertions come to: those of the file, then its own.

    Raises:
        CheckError: a row without assertions, where no file gives any.
    """
    of_the_file = len(checks.compiled.steps) if checks is not None else 0
    remaining, time_of_all = iter(rows), time_of(of_the_file)
    while chunk := list(islice(remaining, CHUNK)):
        time_of_all.each = each_verdict(
            of_the_file + max(len(row.asserts) if isinstance(row.asserts, list) else 0 for row in chunk)
        )
        with check_time(time_of_all):
            evaluated = iter(evaluator.evaluate_many([_job(row, checks) for row in chunk if row.problem is None]))
        for row in chunk:
            yield row, _unscored(row) if row.problem is not None else next(evaluated)


def _job(row: CheckRow, checks: CheckFile | None) -> tuple[compiler.Compiled, CheckedOutput, float | None]:
    return _compiled(row, checks), _checked_output(row, checks), _threshold(row, checks)


def _compiled(row: CheckRow, checks: CheckFile | None) -> compiler.Compiled:
    if row.asserts is None:
        if checks is None:
            message = "the row has no assertions; give --assertions FILE, or a list under assert in the row"
            raise CheckError(message, line=row.line)
        return checks.compiled
    own = compiler.prepare(row.asserts)
    return own if checks is None else compiler.Compiled((*checks.compiled.steps, *own.steps))


def _checked_output(row: CheckRow, checks: CheckFile | None) -> CheckedOutput:
    asserts = [*(checks.raw if checks is not None else ()), *(row.asserts or ())]
    given = {**checks.vars, **row.vars} if checks is not None else row.vars
    return evaluator.checked_output(row.output, given, asserts=asserts, expected=_expected(row, given), **row.measured)


def _expected(row: CheckRow, given: Mapping[str, object]) -> ExpectedOutput | None:
    """The expected output of the row, else the variable of this name."""
    named = given.get("expected")
    text = row.expected if row.expected is not None or named is None else as_text(named)
    return None if text is None else ExpectedOutput(text, row.match)


def _threshold(row: CheckRow, checks: CheckFile | None) -> float | None:
    if row.threshold is not None or checks is None:
        return row.threshold
    return checks.threshold


def _unscored(row: CheckRow) -> CheckReport:
    assert row.problem is not None
    return CheckReport("unscored", None, row.problem.message, row.problem.code)
