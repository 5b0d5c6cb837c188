"""A choice of assertions as tables: a row per candidate, and a row per output that is bad or flagged.

The terms are SPADE's (arXiv 2401.03038): an assertion of the chosen set that fails on an output flags it; a bad output
that is flagged is caught.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.safe_csv import dump_cells, guard
from promptpex.core.errors import SynthesisError
from promptpex.core.translation import tr

CandidateState = Literal["chosen", "implied", "left out", "open", "never", "screened"]
"""What became of a candidate, in the order in which candidates are shown: part of the choice; implied by a chosen one;
neither; nothing, where there is no choice; refused by a person; telling nothing on these examples."""


CANDIDATE_COLUMNS = (
    *("candidate", "state", "why", "kind", "criterion", "category", "origin", "description", "check"),
    *("caught", "caught_alone", "flagged", "errors"),
)
FAILURE_COLUMNS = (
    *("example", "name", "label", "label_from", "notes", "flagged_by", "other_count", "other_candidates"),
    *("inputs", "output"),
)


@dataclass(frozen=True, slots=True)
class CriterionCells:
    """What a candidate decides: the criterion with the title of its category, and where it comes from, in words."""

    text: str
    category: str
    origin: str


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A candidate and what it does on the labelled examples.

    Attributes:
        kind: of its check, with ``asks a judge`` where it may.
        check: what decides, as text.
        why: more of its state, in words; may be empty.
        caught: bad examples that it fails. alone: those of them that no chosen other one fails.
        flagged: good examples that it fails.
        errors: examples, with a label or without one, on which it errs.
    """

    id: str
    kind: str
    check: str
    state: CandidateState
    description: str = ""
    criteria: tuple[CriterionCells, ...] = ()
    why: str = ""
    caught: int = 0
    alone: int = 0
    flagged: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A labelled output that is bad, or good and flagged.

    Attributes:
        name: its case, model and repeat, or the beginning of its id.
        label_from: how the label came about.
        notes: what graders wrote, each with who did.
        flagged_by: ids of the chosen candidates that it fails.
        others: ids of the first candidates that it fails and that could have been chosen. other_count: how many
            there are.
    """

    id: str
    name: str
    label: Literal["good", "bad"]
    output: str
    inputs: Mapping[str, object] = field(default_factory=dict)
    label_from: str = ""
    notes: tuple[str, ...] = ()
    flagged_by: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    other_count: int = 0


def write(candidates: Iterable[CandidateRow], examples: Iterable[ExampleRow], folder: Path) -> tuple[Path, Path]:
    """Writes ``candidates.csv`` and ``failures.csv``, and gives their paths; links in their place are replaced.

    Raises:
        SynthesisError: the folder cannot be written.
    """
    texts = {"candidates.csv": candidates_csv(candidates), "failures.csv": failures_csv(examples)}
    try:
        for name, text in texts.items():
            write_text(folder / name, text, links=False)
    except OSError as failure:
        message = f"the tables cannot be written ({failure.strerror or failure}); make the folder writable"
        raise SynthesisError(message, path=folder) from None
    return folder / "candidates.csv", folder / "failures.csv"


def places(tables: Sequence[Path]) -> str:
    return tr("Tables: {files}", files=", ".join(map(str, tables)))


def candidates_csv(candidates: Iterable[CandidateRow]) -> str:
    """The candidates by their state, those that catch most first; of two criteria each has a line in its cell."""
    return _csv(CANDIDATE_COLUMNS, map(_candidate, _in_order(candidates)))


def failures_csv(examples: Iterable[ExampleRow]) -> str:
    return _csv(FAILURE_COLUMNS, map(_example, examples))


def _csv(header: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    def cells() -> Iterator[Sequence[str | int]]:
        yield header
        for row in rows:
            yield [guard(cell) if isinstance(cell, str) else cell for cell in row]

    return dump_cells(cells(), line_end="\n")


def _candidate(one: CandidateRow) -> Sequence[str | int]:
    criteria = [
        "\n".join(getattr(criterion, name) for criterion in one.criteria) for name in ("text", "category", "origin")
    ]
    counts = (one.caught, one.alone, one.flagged, one.errors)
    return (one.id, one.state, one.why, one.kind, *criteria, one.description, one.check, *counts)


def _example(one: ExampleRow) -> Sequence[str | int]:
    inputs = json.dumps(dict(one.inputs), ensure_ascii=False, default=str) if one.inputs else ""
    chosen, others, notes = "\n".join(one.flagged_by), "\n".join(one.others), "\n".join(one.notes)
    labels = (one.label, one.label_from, notes)
    return (one.id, one.name, *labels, chosen, one.other_count, others, inputs, one.output)


def _in_order(candidates: Iterable[CandidateRow]) -> list[CandidateRow]:
    states = get_args(CandidateState)
    return sorted(candidates, key=lambda one: (states.index(one.state), -one.caught, one.flagged, one.id))
