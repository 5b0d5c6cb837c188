"""Filling the matrix: what is missing is run, entered, and appended to the file as it comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing

from promptpex.codecs import jsonl
from promptpex.core.events import Listener, StepDone, stage_events
from promptpex.core.judge_questions import Answers, JudgeAnswer
from promptpex.engines import Engine, LocalEngine
from promptpex.judging.questions import QuestionJudge, ask_all, evaluated
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, MatrixFile
from promptpex.synthesis.results.matrix_job import ExampleWork, MatrixJob, ranges, work_in

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

    Args:
        engine: where candidates run that ask nobody.
        judge: answers the questions of the others; None: they err, and are run again next time.
        cancelled: whether to stop after the block that is under way; what is left then is missing.

    Raises:
        SynthesisError: the file is damaged, or cannot be written.
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
