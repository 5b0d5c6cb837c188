"""A choice as tables: ``candidates.csv``, a row each, and ``failures.csv``, a row per bad or flagged output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from promptpex.codecs.safe_csv import dump_cells, guard
from promptpex.report.choices.page import in_order
from promptpex.report.choices.records import PageCandidate, PageExample

CANDIDATE_COLUMNS = (
    *("candidate", "state", "why", "kind", "criterion", "category", "origin", "description", "check"),
    *("caught", "caught_alone", "flagged", "errors"),
)
FAILURE_COLUMNS = (
    *("example", "name", "label", "label_from", "notes", "flagged_by", "other_count", "other_candidates"),
    *("inputs", "output"),
)


def candidates_csv(candidates: Iterable[PageCandidate]) -> str:
    """The candidates, in the order of the page; a candidate of two criteria has both in its cells, a line each."""
    return _csv(CANDIDATE_COLUMNS, map(_candidate, in_order(candidates)))


def failures_csv(examples: Iterable[PageExample]) -> str:
    """The bad outputs and those good ones that are flagged, in their order, with what flags them."""
    return _csv(FAILURE_COLUMNS, map(_example, examples))


def _csv(header: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    def cells() -> Iterator[Sequence[str | int]]:
        yield header
        for row in rows:
            yield [guard(cell) if isinstance(cell, str) else cell for cell in row]

    return dump_cells(cells(), line_end="\n")


def _candidate(one: PageCandidate) -> Sequence[str | int]:
    criteria = [
        "\n".join(getattr(criterion, name) for criterion in one.criteria) for name in ("text", "category", "origin")
    ]
    counts = (one.caught, one.alone, one.flagged, one.errors)
    return (one.id, one.state, one.why, one.kind, *criteria, one.description, one.check, *counts)


def _example(one: PageExample) -> Sequence[str | int]:
    inputs = json.dumps(dict(one.inputs), ensure_ascii=False, default=str) if one.inputs else ""
    chosen, others, notes = "\n".join(one.flagged_by), "\n".join(one.others), "\n".join(one.notes)
    labels = (one.label, one.label_from, notes)
    return (one.id, one.name, *labels, chosen, one.other_count, others, inputs, one.output)
