"""The chosen set on the outputs of another run: what candidates say there, as far as that is known or code can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from promptpex.alignment.card_data import CardContest
from promptpex.alignment.cross_fit import union
from promptpex.alignment.graded_outputs import graded_outputs
from promptpex.assertions import check, check_time
from promptpex.codecs.text.wording import named
from promptpex.core.records import Candidate, Example, Synthesis
from promptpex.core.translation import stored_n
from promptpex.grading.book import GradeBook
from promptpex.synthesis.active_candidates import in_force
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, MatrixFile

MOST_RUN = 20_000
"""Results of code that are made for a comparison: some seconds; more are left to ``promptpex synthesize``."""


def contest_on(
    contest: CardContest,
    items: Sequence[Example],
    synthesis: Synthesis,
    folder: SynthesisFolder,
    book: GradeBook,
    criterion_of: Mapping[str, str],
) -> CardContest:
    """The same candidates on other outputs, and what people say of these.

    Results on file count. What is missing there is made where code alone decides, and kept nowhere; nobody is asked.

    Args:
        items: with their labels.
        criterion_of: as for ``graded_outputs``.

    Raises:
        SynthesisError: the file of results cannot be read, with its line.
    """
    contender_ids = {one.id for one in contest.contenders}
    candidates = [one for one in in_force(synthesis) if one.id in contender_ids]
    matrix = Matrix(candidates, items)
    matrix.take(MatrixFile(folder.matrix).read())
    _run_code(matrix)
    numbers = {one.id: number for number, one in enumerate(candidates)}
    return replace(
        contest,
        examples=tuple(items),
        contenders=tuple(replace(one, fails=matrix.fails(numbers[one.id])) for one in contest.contenders),
        graded=graded_outputs(items, book, criterion_of),
        unknown={name: matrix.unknown(number) for name, number in numbers.items()},
    )


def not_run_sentence(contest: CardContest, run: str) -> str:
    """Which graded outputs of a run a chosen candidate was not run on; empty where that is none."""
    names = [name for name in sorted(contest.chosen) if contest.unknown.get(name, 0) & contest.graded.any]
    outputs = union(contest.unknown[name] for name in names) & contest.graded.any
    if not outputs:
        return ""
    return stored_n(
        "the chosen set is compared without {outputs} of the run {run}, on which {names} was not run",
        "the chosen set is compared without {outputs} of the run {run}, on which {names} were not run",
        len(names),
        outputs=stored_n("{count} graded output", "{count} graded outputs", outputs.bit_count()),
        run=run,
        names=named(names),
    )


def _run_code(matrix: Matrix) -> None:
    """Enters what code says where nothing is known."""
    all_examples = range(len(matrix.examples))
    missing = [
        (number, candidate, matrix.open_cells(number, all_examples))
        for number, candidate in enumerate(matrix.candidates)
        if not matrix.asking(number)
    ]
    if sum(len(cells) for _, _, cells in missing) > MOST_RUN:
        return
    with check_time():
        for number, candidate, cells in missing:
            for cell in cells:
                matrix.add(_cell(number, cell, candidate, matrix.examples[cell]))


def _cell(number: int, place: int, candidate: Candidate, item: Example) -> MatrixCell:
    result = check(item.output, [candidate.check], vars=item.inputs, prompt=item.prompt or None).results[0]
    return MatrixCell(number, place, result.status if result.status in ("pass", "fail") else "error", result.reason)
