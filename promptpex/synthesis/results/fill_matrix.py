"""Filling the matrix: what is missing is run, entered, and appended to the file as it comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from promptpex.assertions import evaluator
from promptpex.assertions.compiler import Compiled, Step, compile_patterns, prepare
from promptpex.assertions.model import CheckResult
from promptpex.assertions.time_limits import NOT_TRIED, check_time, time_of
from promptpex.codecs import jsonl
from promptpex.core.events import Listener, StepDone, stage_events
from promptpex.core.judge_questions import Answers, JudgeAnswer
from promptpex.core.records import CandidateStatus, Check, Example
from promptpex.engines import Engine, LocalEngine
from promptpex.judging.questions import QuestionJudge, ask_all, evaluated
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, MatrixFile, reason_of

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
    """The job of running candidates on examples. Each place where it runs compiles a check when it first needs it."""

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


PROGRESS = "matrix"
"""What progress calls it; no model is asked."""

EXAMPLES_ASKED = 32
"""Examples whose questions are out at a time: enough to keep a judge busy, and not much is lost when it stops."""


async def fill(
    matrix: Matrix,
    file: MatrixFile,
    engine: Engine,
    emit: Listener,
    *,
    judge: QuestionJudge | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> int:
    """Runs the candidates on the examples where that is not known, and gives how many cells that were.

    What the file holds counts as far as it still fits, so an interrupted run continues where it was. Memory is bounded
    by the matrix itself, a byte a cell, and a few blocks.
    """
    matrix.take(file.read())
    missing_cells = matrix.missing()
    if not missing_cells:
        return 0
    blocks = ranges(matrix)
    job = MatrixJob(tuple(candidate.check for candidate in matrix.candidates))
    file.add("")  # what cannot be written is said before there is anything to write
    with stage_events(emit, PROGRESS, {"": len(blocks)} if blocks else {}):
        async with aclosing(engine.stream(job, (work_in(matrix, *block) for block in blocks))) as results:
            async for cells in results:
                _enter(matrix, cells, file)
                emit(StepDone(PROGRESS))
                if cancelled():
                    return missing_cells - matrix.missing()
    for examples in _waves(matrix):
        if cancelled():
            return missing_cells - matrix.missing()
        work = work_in(matrix, range(len(matrix.candidates)), examples, asking=True)
        if work:
            _enter(matrix, await _answered(job, work, judge, emit), file)
    return missing_cells


def _waves(matrix: Matrix) -> Iterable[range]:
    count = len(matrix.examples)
    return (range(start, min(start + EXAMPLES_ASKED, count)) for start in range(0, count, EXAMPLES_ASKED))


async def _answered(
    job: MatrixJob, work: Sequence[ExampleWork], judge: QuestionJudge | None, emit: Listener
) -> list[MatrixCell]:
    """What candidates that ask say of some examples, once their questions are answered."""
    questions_asked: defaultdict[tuple[int, int], set[str]] = defaultdict(set)

    async def evaluate(
        items: Sequence[tuple[ExampleWork, Answers]],
    ) -> list[tuple[Sequence[MatrixCell], Sequence[str]]]:
        answered_items = [item._replace(answers=dict(answers)) for item, answers in items]
        cells = iter((await LocalEngine().map(job, [answered_items]))[0])
        results: list[tuple[Sequence[MatrixCell], Sequence[str]]] = []
        for item in answered_items:
            item_cells = [next(cells) for _ in item.candidates]
            for cell in item_cells:
                questions_asked[cell.candidate, cell.example].update(cell.questions)
            results.append((item_cells, [question for cell in item_cells for question in cell.questions]))
        return results

    async def ask(questions: Sequence[tuple[ExampleWork, str]]) -> list[JudgeAnswer]:
        assert judge is not None
        texts = [(item.example.prompt, item.example.output, question) for item, question in questions]
        return await ask_all(judge, texts, emit)

    groups = await evaluated(work, evaluate, ask if judge is not None else None)
    return [_with_count(cell, len(questions_asked[cell.candidate, cell.example])) for group in groups for cell in group]


def _with_count(cell: MatrixCell, asked: int) -> MatrixCell:
    return MatrixCell(cell.candidate, cell.example, cell.status, cell.reason, asked, cell.kept)


def _enter(matrix: Matrix, cells: Iterable[MatrixCell], file: MatrixFile) -> None:
    lines = []
    for cell in cells:
        matrix.add(cell)
        if cell.kept:
            lines.append(jsonl.dump_record(matrix.record(cell)))
    file.add("".join(lines))
