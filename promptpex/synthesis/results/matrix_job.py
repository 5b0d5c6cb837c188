"""Running candidates on examples, a block of both at a time, as a job that runs in this process or in others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from promptpex.assertions import evaluator
from promptpex.assertions.compiler import Compiled, Step, compile_patterns, prepare
from promptpex.assertions.model import CheckResult
from promptpex.assertions.time_limits import NOT_TRIED, check_time, time_of
from promptpex.core.judge_questions import Answers
from promptpex.core.records import CandidateStatus, Check, Example
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, reason_of

CANDIDATES_AT_ONCE = 64
EXAMPLES_AT_ONCE = 256
"""A block is what one process does at a time: enough that neither starting it nor compiling the checks counts, and
little enough that all processes have work."""

_STATUS: Mapping[str, CandidateStatus] = {"pass": "pass", "fail": "fail", "unscored": "error"}

PASSING_ERRORS = frozenset(("needs-judge", "no-sandbox"))
"""Codes of errors that another run may not meet, those of judges (``judge-...``) aside."""


NO_ANSWERS: Answers = {}


class ExampleWork(NamedTuple):
    """An example by its number in the matrix, the numbers of the candidates to be run on it, and what a judge has said
    to questions about it."""

    number: int
    example: Example
    candidates: tuple[int, ...]
    answers: Answers = NO_ANSWERS


@dataclass(frozen=True, slots=True)
class MatrixJob:
    """The job of running candidates on examples. Each place where it runs compiles a check when it first needs it.

    Attributes:
        checks: of the candidates, by their numbers.
    """

    checks: tuple[Check, ...]

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[Sequence[ExampleWork]], Awaitable[list[MatrixCell]]]]:
        """The function of a block."""
        time_of_all = time_of(len(self.checks))
        compiled: dict[int, Step] = {}

        async def cells_of(block: Sequence[ExampleWork]) -> list[MatrixCell]:
            with check_time(time_of_all):
                self._compile(block, compiled)
                return _cells(block, compiled)

        yield cells_of

    def _compile(self, block: Sequence[ExampleWork], compiled: dict[int, Step]) -> None:
        uncompiled = {candidate for work in block for candidate in work.candidates} - compiled.keys()
        prepared = prepare([self.checks[candidate] for candidate in sorted(uncompiled)])
        compile_patterns([prepared])
        compiled.update(zip(sorted(uncompiled), prepared.steps, strict=True))


def _cells(block: Sequence[ExampleWork], compiled: Mapping[int, Step]) -> list[MatrixCell]:
    rows = [
        (
            Compiled(tuple(compiled[candidate] for candidate in work.candidates)),
            evaluator.checked_output(
                work.example.output, work.example.inputs, prompt=work.example.prompt or None, answers=work.answers
            ),
            None,
        )
        for work in block
    ]
    return [
        _cell(candidate, work.number, result)
        for work, report in zip(block, evaluator.evaluate_many(rows), strict=True)
        for candidate, result in zip(work.candidates, report.results, strict=True)
    ]


def _cell(candidate: int, example: int, result: CheckResult) -> MatrixCell:
    status = _STATUS[result.status]
    reason = "" if status == "pass" else reason_of(result.unscored, result.reason)
    questions = tuple(dict.fromkeys(each for one in (result, *result.parts) for each in one.questions))
    return MatrixCell(candidate, example, status, reason, kept=not _may_pass_next_time(result), questions=questions)


def _may_pass_next_time(result: CheckResult) -> bool:
    """Whether an error says nothing about the candidate on this example, so that it is run again next time."""
    code = result.unscored or ""
    return code in PASSING_ERRORS or code.startswith("judge-") or result.reason.startswith(NOT_TRIED)


def ranges(matrix: Matrix) -> list[tuple[range, range]]:
    """The blocks of the matrix in which cells are missing: candidates and examples, by their numbers."""
    columns, rows = len(matrix.candidates), len(matrix.examples)
    all_blocks = (
        (range(column, min(column + CANDIDATES_AT_ONCE, columns)), range(row, min(row + EXAMPLES_AT_ONCE, rows)))
        for row in range(0, rows, EXAMPLES_AT_ONCE)
        for column in range(0, columns, CANDIDATES_AT_ONCE)
    )
    return [(candidates, examples) for candidates, examples in all_blocks if work_in(matrix, candidates, examples)]


def work_in(matrix: Matrix, candidates: Iterable[int], examples: range, *, asking: bool = False) -> list[ExampleWork]:
    """What is missing in a block, of the candidates that ask a judge or of the others."""
    of_example: dict[int, list[int]] = {}
    for candidate in candidates:
        if matrix.asking(candidate) != asking:
            continue
        for example in matrix.open_cells(candidate, examples):
            of_example.setdefault(example, []).append(candidate)
    return [ExampleWork(number, matrix.examples[number], tuple(of_example[number])) for number in sorted(of_example)]
