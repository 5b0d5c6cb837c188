"""The jobs of checking, done in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from promptpex.assertions import ExpectedOutput, OutputOfCase, RuleCheckJob, chunked
from promptpex.assertions.assertion_file import CheckFile
from promptpex.assertions.batch import RowCheckJob, chunks
from promptpex.assertions.model import CheckReport
from promptpex.assertions.rows_to_check import CheckRow
from promptpex.core.records import Output, Rule, Verdict
from promptpex.engines import LocalEngine


def check_rows(rows: Iterable[CheckRow], checks: CheckFile | None = None) -> list[CheckReport]:
    """What the assertions of each row come to."""
    reports = asyncio.run(LocalEngine().map(RowCheckJob(checks), chunks(rows)))
    return [each.report for each in chain.from_iterable(reports)]


def check_rules(
    rules: Sequence[Rule],
    outputs: Sequence[Output],
    inputs_of: Callable[[Output], Mapping[str, object]],
    expected_of: Callable[[Output], ExpectedOutput | None] = lambda output: None,
) -> list[Verdict]:
    """The verdicts in the order of the outputs, then of the rules."""
    job = RuleCheckJob(tuple(rules))
    usable = [OutputOfCase(each, inputs_of(each), expected_of(each)) for each in outputs if each.error is None]
    chunks = asyncio.run(LocalEngine().map(job, chunked(usable)))
    return [each.verdict for each in chain.from_iterable(chunks)]
