"""Filling the matrix: what is missing is run, entered, and appended to the file as it comes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing, closing

from promptpex.codecs import jsonl
from promptpex.core.errors import SynthesisError
from promptpex.core.events import Listener, StepDone, stage_events
from promptpex.engines import Engine
from promptpex.synthesis.matrix import Matrix, MatrixCell, MatrixFile
from promptpex.synthesis.matrix_job import MatrixJob, ranges, work_in

STAGE = "matrix"


async def fill(matrix: Matrix, file: MatrixFile, engine: Engine, emit: Listener) -> int:
    """Runs the candidates on the examples where that is not known, and gives how many cells that were.

    What the file holds counts as far as it still fits, so an interrupted run goes on where it was. Memory is bounded
    by the matrix itself, a byte a cell, and a few blocks.

    Raises:
        SynthesisError: the file is damaged, or cannot be written.
    """
    matrix.take(file.read())
    wanted = matrix.missing()
    if not wanted:
        return 0
    blocks = ranges(matrix)
    job = MatrixJob(tuple(candidate.check for candidate in matrix.candidates))
    with stage_events(emit, STAGE, {"": len(blocks)}), closing(file.appender()) as appender:
        async with aclosing(engine.stream(job, (work_in(matrix, *block) for block in blocks))) as results:
            async for cells in results:
                _enter(matrix, cells, appender, file)
                emit(StepDone(STAGE))
    return wanted


def _enter(matrix: Matrix, cells: Iterable[MatrixCell], appender: jsonl.Appender, file: MatrixFile) -> None:
    lines = []
    for cell in cells:
        matrix.add(cell)
        if cell.kept:
            lines.append(jsonl.dump_record(matrix.record(cell)))
    try:
        appender.add("".join(lines))
    except OSError as failure:
        message = f"the results cannot be written ({failure.strerror or failure}); free some space"
        raise SynthesisError(message, path=file.path) from None
