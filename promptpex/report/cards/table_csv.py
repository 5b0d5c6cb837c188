"""The table of a report card as CSV: an output each, with its label and what every assertion says of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.safe_csv import dump_cells, guard
from promptpex.core.errors import InputError
from promptpex.core.records import CardOutput, Example, ReportCard

SIGNS = {"p": "pass", "f": "fail", "e": "none", "-": ""}
"""What the signs of ``CardOutput.cells`` mean; empty where an assertion was not run."""

_FIXED = ("id", "name", "case", "model", "repeat", "label", "label_from", "random_sample")


def write_table(path: Path, card: ReportCard, items: Iterable[Example]) -> None:
    """Writes the table, with the whole of each output and its inputs.

    Args:
        items: the outputs of the card.

    Raises:
        InputError: the file cannot be written.
    """
    measures = list(dict.fromkeys(name for one in card.outputs for name in one.measures))
    header = (*_FIXED, *measures, *(f"{one.subject}: {one.id}" for one in card.columns), "inputs", "output")
    items_by_id = {item.id: item for item in items}

    def rows() -> Iterator[Sequence[str | int | float]]:
        yield [guard(name) for name in header]
        for one in card.outputs:
            yield [
                guard(cell) if isinstance(cell, str) else cell for cell in _cells(one, items_by_id[one.id], measures)
            ]

    try:
        write_text(path, dump_cells(rows(), line_end="\n"), links=False)
    except OSError as failure:
        message = f"the table cannot be written ({failure.strerror or failure}); name another file with --csv"
        raise InputError(message, path=path) from None


def _cells(one: CardOutput, item: Example, measures: Sequence[str]) -> Sequence[str | int | float]:
    inputs = json.dumps(item.inputs, ensure_ascii=False, default=str) if item.inputs else ""
    return (
        *(one.id, one.name, item.case, item.model, item.repeat, one.label, one.how, "yes" if one.sampled else "no"),
        *(one.measures.get(name, "") for name in measures),
        *(SIGNS[sign] for sign in one.cells),
        *(inputs, item.output),
    )
