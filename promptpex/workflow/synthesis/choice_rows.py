"""Candidates and outputs of a choice as its tables have them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import OUTPUT_SUBJECT, Candidate, Check, Criterion, Grade, Synthesis
from promptpex.core.translation import stored
from promptpex.report.cards.choice_tables import CandidateRow, CandidateState, CriterionCells, ExampleRow
from promptpex.synthesis.choice.problem_of_folder import FolderProblem
from promptpex.synthesis.history.taxonomy import info_of
from promptpex.synthesis.results.matrix import ERROR, FAIL, may_ask
from promptpex.synthesis.results.same_check import NOT_DECIDING
from promptpex.synthesis.selection.bitsets import bits, membership_patterns, union

FIRST_OTHERS = 20
"""Candidates that are named of those which an output fails and which are not chosen."""
MOST_NOTES = 10


@dataclass(frozen=True)
class ChosenColumns:
    """A choice within a synthesis folder.

    Attributes:
        chosen: numbers of candidates in the matrix; None where nothing is chosen.
        good, bad: the labelled examples of the matrix, as bits.
    """

    source: FolderProblem
    chosen: tuple[int, ...] | None
    good: int
    bad: int

    @classmethod
    def of(cls, source: FolderProblem, chosen: Mapping[str, str] | None) -> ChosenColumns:
        """The choice of these candidates, by ids with the fingerprints of their checks; those that are gone, or have
        another check now, are left out."""
        rows = {row: source.matrix.examples[row].label for row in source.rows}
        columns = None
        if chosen is not None:
            candidates = enumerate(source.matrix.candidates)
            columns = tuple(number for number, one in candidates if chosen.get(one.id) == one.fingerprint)
        good = sum(1 << row for row, label in rows.items() if label == "good")
        return cls(source, columns, good, sum(1 << row for row in rows) ^ good)

    @cached_property
    def flagged(self) -> int:
        """The examples of the matrix that a chosen candidate fails, as bits."""
        return union(self.fails, self.chosen or ())

    @cached_property
    def fails(self) -> list[int]:
        """Per candidate of the matrix the examples that it fails, as bits."""
        matrix = self.source.matrix
        return [matrix.where(number, FAIL, ERROR) for number in range(len(matrix.candidates))]


def candidate_rows(
    choice: ChosenColumns, synthesis: Synthesis, reasons: Mapping[str, str] | None = None
) -> tuple[CandidateRow, ...]:
    """All candidates, with their states.

    Args:
        reasons: of a choice by alignment, why each candidate was chosen or not, by its id.
    """
    matrix, fails = choice.source.matrix, choice.fails
    states = _states(choice) if reasons is None else _states_by_alignment(choice, reasons)
    criteria = {one.id: one for one in synthesis.criteria}
    once = more_than_once = 0
    for number in choice.chosen or ():
        more_than_once |= once & fails[number]
        once |= fails[number]
    chosen = set(choice.chosen or ())
    return tuple(
        CandidateRow(
            id=one.id,
            kind=stored("{kind}, asks a judge", kind=one.check.kind) if may_ask(one.check) else one.check.kind,
            check=check_text(one.check),
            state=states[number][0],
            why=states[number][1],
            description=one.description,
            criteria=tuple(_criterion(criteria[name]) for name in one.criteria if name in criteria),
            caught=(fails[number] & choice.bad).bit_count(),
            alone=(fails[number] & choice.bad & ~more_than_once).bit_count() if number in chosen else 0,
            flagged=(fails[number] & choice.good).bit_count(),
            errors=matrix.where(number, ERROR).bit_count(),
        )
        for number, one in enumerate(matrix.candidates)
    )


def _states(choice: ChosenColumns) -> list[tuple[CandidateState, str]]:
    """What became of each candidate of the matrix, and more of it in words."""
    source, names = choice.source, [one.id for one in choice.source.matrix.candidates]
    screened = {one.candidate: one.sentence for one in source.screens}
    implying = _implying(choice)
    chosen = set(choice.chosen or ())

    def one(number: int, candidate: Candidate) -> tuple[CandidateState, str]:
        if number in chosen:
            return "chosen", stored("a person said must") if candidate.choice == "must" else ""
        if candidate.choice == "never":
            return "never", stored("a person said never")
        if number in screened:
            return "screened", screened[number]
        if choice.chosen is None:
            return "open", ""
        if number in implying:
            more = len(implying[number]) - 3
            first = ", ".join(names[other] for other in implying[number][:3])
            by_some = stored("by {names} and {count} more", names=first, count=more)
            return "implied", by_some if more > 0 else stored("by {names}", names=first)
        return "left out", ""

    return [one(number, candidate) for number, candidate in enumerate(source.matrix.candidates)]


def _states_by_alignment(choice: ChosenColumns, reasons: Mapping[str, str]) -> list[tuple[CandidateState, str]]:
    """As ``_states``: what implies another one, or tells nothing, has no part in a choice by alignment."""
    chosen, not_comparable = set(choice.chosen or ()), choice.source.not_comparable

    def state(number: int, candidate: Candidate) -> CandidateState:
        if number in chosen:
            return "chosen"
        if candidate.choice == "never":
            return "never"
        return "screened" if number in not_comparable else "left out"

    return [
        (state(number, candidate), reasons.get(candidate.id, ""))
        for number, candidate in enumerate(choice.source.matrix.candidates)
    ]


def _implying(choice: ChosenColumns) -> dict[int, list[int]]:
    """By each candidate that a chosen one implies, the chosen ones that do."""
    problem, columns = choice.source.problem, choice.source.columns
    places = {column: place for place, column in enumerate(columns)}
    implying: dict[int, list[int]] = {}
    for number in choice.chosen or ():
        for place in bits(problem.spares[places[number]]) if number in places else ():
            if columns[place] != number:
                implying.setdefault(columns[place], []).append(number)
    return implying


def check_text(check: Check) -> str:
    """What decides a check, as text: its value, and where there is more the whole check as JSON."""
    data = {name: value for name, value in check.to_dict().items() if name not in ("kind", *NOT_DECIDING)}
    if data.keys() <= {"value"}:
        value = data.get("value", "")
        return value_text(value)
    return json.dumps(data, ensure_ascii=False, indent=1)


def _criterion(one: Criterion) -> CriterionCells:
    words = f"“{one.source}”" if one.source else ""
    name = one.rule or one.version or ""
    origin = words
    if name and words:
        template = stored("rule {name}, {source}") if one.rule else stored("version {name}, {source}")
        origin = template.format(name=name, source=words)
    elif name:
        origin = stored("rule {ids}", ids=name) if one.rule else stored("version {name}", name=name)
    return CriterionCells(one.text, info_of(one.category).title, origin)


def example_rows(choice: ChosenColumns, grades: Sequence[Grade] = ()) -> tuple[ExampleRow, ...]:
    """The bad examples, and the good ones that are flagged, with what flags them."""
    matrix = choice.source.matrix
    rows_shown = list(bits(choice.bad | (choice.flagged & choice.good)))
    names = [one.id for one in matrix.candidates]
    notes = _notes(grades, {matrix.examples[row].id for row in rows_shown})
    chosen = set(choice.chosen or ())
    other = {number for number in choice.source.columns if matrix.candidates[number].choice != "never"} - chosen
    return tuple(
        ExampleRow(
            id=example.id,
            name=example.name,
            label="bad" if choice.bad >> row & 1 else "good",
            output=example.output,
            inputs=example.inputs,
            label_from=example.label_from,
            notes=tuple(notes.get(example.id, ())),
            flagged_by=tuple(names[number] for number in failed if number in chosen),
            others=tuple(names[number] for number in failed if number in other)[:FIRST_OTHERS],
            other_count=sum(number in other for number in failed),
        )
        for row, failed in zip(rows_shown, _failed(choice.fails, rows_shown, len(matrix.examples)), strict=True)
        for example in (matrix.examples[row],)
    )


def _failed(fails: Sequence[int], rows: Sequence[int], width: int) -> Iterator[list[int]]:
    """Per example the candidates that it fails."""
    for pattern in membership_patterns(fails, rows, width):
        yield [number for number, sign in enumerate(pattern) if sign == "1"]


def _notes(grades: Sequence[Grade], examples: Collection[str]) -> dict[str, list[str]]:
    """What graders wrote, by the example's id."""
    notes: dict[str, list[str]] = {}
    for grade in grades:
        if grade.note.strip() and grade.key in examples:
            about = "" if grade.subject == OUTPUT_SUBJECT else f" on {grade.subject}"
            texts = notes.setdefault(grade.key, [])
            if len(texts) < MOST_NOTES:
                texts.append(f"{grade.grader}{about}: {grade.note.strip()}")
    return notes
