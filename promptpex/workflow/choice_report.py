"""The report of a choice from a synthesis folder: its answer in sentences, and its tables.

A row per candidate, and a row per output that is bad or flagged. The terms are SPADE's (arXiv 2401.03038): an assertion
of the chosen set that fails on an output flags it; a bad output that is flagged is caught.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.safe_csv import dump_cells, guard
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import sentence
from promptpex.core.errors import InputError, SynthesisError
from promptpex.core.records import OUTPUT_SUBJECT, Candidate, Check, Criterion, Grade, Synthesis
from promptpex.core.translation import from_data, stored, tr, tr_n
from promptpex.documents.human_grades import current, read_grades
from promptpex.promptfile import sibling
from promptpex.report.percentages import as_given, interval_or_unknown, limits_not_kept, percent
from promptpex.synthesis.choice.problem_of_folder import FolderProblem, read_folder, shortages_of
from promptpex.synthesis.choice.saved_choice import CHOICE, SavedChoice, SavedCriterion, SavedFigures
from promptpex.synthesis.choice.screens import indistinct_sentences
from promptpex.synthesis.folder import SynthesisFolder, read_candidates
from promptpex.synthesis.history.categories import info_of
from promptpex.synthesis.results.matrix import ERROR, FAIL, NOT_DECIDING, may_ask
from promptpex.synthesis.selection.problem import SelectionLimits, bits, membership_patterns, union
from promptpex.workflow.choosing import Contest, contest_of_kept, label_rules_of, reasons_in, rule_labels

CANDIDATE_COLUMNS = (
    *("candidate", "state", "why", "kind", "criterion", "category", "origin", "description", "check"),
    *("caught", "caught_alone", "flagged", "errors"),
)
FAILURE_COLUMNS = (
    *("example", "name", "label", "label_from", "notes", "flagged_by", "other_count", "other_candidates"),
    *("inputs", "output"),
)
_OF_CRITERIA = ("criterion", "category", "origin")

STATES = ("chosen", "implied", "left out", "open", "never", "screened")
"""What became of a candidate, in the order in which candidates are shown: part of the choice; implied by a chosen one;
neither; nothing, where there is no choice; refused by a person; telling nothing on these examples."""

Row = dict[str, Any]
"""The cells of a row by their columns, texts and numbers."""

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


def candidate_rows(choice: ChosenColumns, synthesis: Synthesis, reasons: Mapping[str, str] | None = None) -> list[Row]:
    """All candidates by their states, those that catch most first; of two criteria each has a line in its cell."""
    matrix, fails = choice.source.matrix, choice.fails
    states = _states(choice) if reasons is None else _states_by_alignment(choice, reasons)
    criteria = {one.id: one for one in synthesis.criteria}
    once = more_than_once = 0
    for number in choice.chosen or ():
        more_than_once |= once & fails[number]
        once |= fails[number]
    chosen = set(choice.chosen or ())
    rows = []
    for number, one in enumerate(matrix.candidates):
        cells = zip(*(_criterion(criteria[name]) for name in one.criteria if name in criteria), strict=True)
        rows.append(
            {
                "candidate": one.id,
                "state": states[number][0],
                "why": states[number][1],
                "kind": stored("{kind}, asks a judge", kind=one.check.kind) if may_ask(one.check) else one.check.kind,
                **dict.fromkeys(_OF_CRITERIA, ""),
                **dict(zip(_OF_CRITERIA, map("\n".join, cells), strict=False)),
                "description": one.description,
                "check": check_text(one.check),
                "caught": (fails[number] & choice.bad).bit_count(),
                "caught_alone": (fails[number] & choice.bad & ~more_than_once).bit_count() if number in chosen else 0,
                "flagged": (fails[number] & choice.good).bit_count(),
                "errors": matrix.where(number, ERROR).bit_count(),
            }
        )
    return sorted(rows, key=lambda one: (STATES.index(one["state"]), -one["caught"], one["flagged"], one["candidate"]))


def _states(choice: ChosenColumns) -> list[tuple[str, str]]:
    """What became of each candidate of the matrix, and more of it in words."""
    source, names = choice.source, [one.id for one in choice.source.matrix.candidates]
    screened = {one.candidate: one.sentence for one in source.screens}
    implying = _implying(choice)
    chosen = set(choice.chosen or ())

    def one(number: int, candidate: Candidate) -> tuple[str, str]:
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


def _states_by_alignment(choice: ChosenColumns, reasons: Mapping[str, str]) -> list[tuple[str, str]]:
    """As ``_states``: what implies another one, or tells nothing, has no part in a choice by alignment."""
    chosen, not_comparable = set(choice.chosen or ()), choice.source.not_comparable

    def state(number: int, candidate: Candidate) -> str:
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


def _criterion(one: Criterion) -> tuple[str, str, str]:
    """Its words, the title of its category, and where it comes from."""
    words = f"“{one.source}”" if one.source else ""
    name = one.rule or one.version or ""
    origin = words
    if name and words:
        template = stored("rule {name}, {source}") if one.rule else stored("version {name}, {source}")
        origin = template.format(name=name, source=words)
    elif name:
        origin = stored("rule {ids}", ids=name) if one.rule else stored("version {name}", name=name)
    return one.text, info_of(one.category).title, origin


def example_rows(choice: ChosenColumns, grades: Sequence[Grade] = ()) -> list[Row]:
    """The bad examples, and the good ones that are flagged, with what flags them."""
    matrix = choice.source.matrix
    rows_shown = list(bits(choice.bad | (choice.flagged & choice.good)))
    names = [one.id for one in matrix.candidates]
    notes = _notes(grades, {matrix.examples[row].id for row in rows_shown})
    chosen = set(choice.chosen or ())
    other = {number for number in choice.source.columns if matrix.candidates[number].choice != "never"} - chosen
    all_failed = _failed(choice.fails, rows_shown, len(matrix.examples))
    rows = []
    for row, failed in zip(rows_shown, all_failed, strict=True):
        example = matrix.examples[row]
        others = [names[number] for number in failed if number in other]
        rows.append(
            {
                "example": example.id,
                "name": example.name,
                "label": "bad" if choice.bad >> row & 1 else "good",
                "label_from": example.label_from,
                "notes": "\n".join(notes.get(example.id, ())),
                "flagged_by": "\n".join(names[number] for number in failed if number in chosen),
                "other_count": len(others),
                "other_candidates": "\n".join(others[:FIRST_OTHERS]),
                "inputs": json.dumps(dict(example.inputs), ensure_ascii=False, default=str) if example.inputs else "",
                "output": example.output,
            }
        )
    return rows


def _failed(fails: Sequence[int], rows: Sequence[int], width: int) -> Iterator[list[int]]:
    for pattern in membership_patterns(fails, rows, width):
        yield [number for number, sign in enumerate(pattern) if sign == "1"]


def _notes(grades: Sequence[Grade], examples: Collection[str]) -> dict[str, list[str]]:
    notes: dict[str, list[str]] = {}
    for grade in grades:
        if grade.note.strip() and grade.key in examples:
            about = "" if grade.subject == OUTPUT_SUBJECT else f" on {grade.subject}"
            texts = notes.setdefault(grade.key, [])
            if len(texts) < MOST_NOTES:
                texts.append(f"{grade.grader}{about}: {grade.note.strip()}")
    return notes


@dataclass(frozen=True, slots=True)
class ChoiceReport:
    """What there is to say of a choice."""

    answer: str
    labels: str
    notices: tuple[str, ...]
    candidates: list[Row]
    examples: list[Row]


def write_tables(report: ChoiceReport, folder: Path) -> tuple[Path, Path]:
    """Writes ``candidates.csv`` and ``failures.csv``, and gives their paths; links in their place are replaced."""
    tables = {
        "candidates.csv": (CANDIDATE_COLUMNS, report.candidates),
        "failures.csv": (FAILURE_COLUMNS, report.examples),
    }
    try:
        for name, (columns, rows) in tables.items():
            cells = [[_cell(row[column]) for column in columns] for row in rows]
            write_text(folder / name, dump_cells([columns, *cells], line_end="\n"), links=False)
    except OSError as failure:
        message = f"the tables cannot be written ({failure.strerror or failure}); make the folder writable"
        raise SynthesisError(message, path=folder) from None
    return folder / "candidates.csv", folder / "failures.csv"


def _cell(value: str | int) -> str | int:
    return guard(value) if isinstance(value, str) else value


def report_of_folder(path: Path) -> ChoiceReport:
    """The report of the choice that is kept in a folder, or of the folder alone where there is none."""
    choice = CHOICE.read(SynthesisFolder(path).selection)
    return report_of(path, read_folder(path, _limits(choice)), choice)


def report_of(path: Path, source: FolderProblem, choice: SavedChoice | None) -> ChoiceReport:
    """The report of a choice."""
    folder, limits = SynthesisFolder(path), _limits(choice)
    synthesis = read_candidates(folder.candidates)
    columns = ChosenColumns.of(source, None if choice is None else choice.chosen)
    aligned = choice is not None and choice.method == "aligned"
    contest = contest_of_kept(source, synthesis, folder, choice) if choice is not None and aligned else None
    return ChoiceReport(
        answer=_no_answer(source) if choice is None else _answer(columns, choice),
        labels=tr("Labels: {rules}.", rules=from_data(label_rules_of(choice).sentence()))
        if choice is not None and choice.label_rules is not None
        else "",
        notices=tuple(_notices(source, columns, choice, limits, contest)),
        candidates=candidate_rows(columns, synthesis, reasons_in(source, contest) if contest is not None else None),
        examples=example_rows(columns, _grades(folder, synthesis)),
    )


def criteria_not_kept(criteria: Mapping[str, SavedCriterion]) -> list[str]:
    """The criteria of a choice by alignment whose FFR limit is not kept on outputs held out, a sentence each; not those
    that were to get an assertion in any case."""
    return [
        tr(
            "The FFR limit of {criterion} is not kept on outputs held out: {share} against {limit}.",
            criterion=name,
            share=percent(one.held_out_ffr),
            limit=as_given(one.max_ffr),
        )
        for name, one in criteria.items()
        if one.held_out_ffr is not None and one.held_out_ffr > one.max_ffr and not one.must
    ]


def _limits(choice: SavedChoice | None) -> SelectionLimits:
    if choice is None:
        return SelectionLimits()
    return choice.limits


def _answer(columns: ChosenColumns, choice: SavedChoice) -> str:
    caught, bad = (columns.flagged & columns.bad).bit_count(), columns.bad.bit_count()
    flagged, good = (columns.flagged & columns.good).bit_count(), columns.good.bit_count()
    count = len(columns.source.matrix.candidates)
    parts = [
        tr(
            "The method {method} chooses {chosen} of {candidates}",
            method=choice.method,
            chosen=len(columns.chosen or ()),
            candidates=tr_n("{count} candidate", "{count} candidates", count),
        )
    ]
    if bad or good:
        parts.append(": ")
        parts.append(
            tr_n(
                "{caught} of {count} bad output caught, {flagged} of {good} good flagged",
                "{caught} of {count} bad outputs caught, {flagged} of {good} good flagged",
                bad,
                caught=caught,
                flagged=flagged,
                good=good,
            )
        )
    figures = choice.figures
    if figures is not None and choice.method in ("cov", "sub"):
        parts.append(f"; {_proven(figures)}")
    return " ".join((f"{''.join(parts)}.", *_elsewhere(figures), *_not_kept(choice)))


def _not_kept(choice: SavedChoice) -> list[str]:
    figures = choice.figures
    if choice.method == "aligned" or figures is None:
        return criteria_not_kept(choice.criteria)
    limits = (choice.coverage_limit, choice.ffr_limit)
    held_out = (figures.held_out_coverage, figures.held_out_ffr)
    return limits_not_kept(limits, held_out, (figures.coverage, figures.ffr))


def _proven(figures: SavedFigures) -> str:
    if figures.optimal:
        return tr("proven optimal")
    if figures.gap:
        return tr("not proven optimal (a gap of {share})", share=percent(figures.gap))
    return tr("not proven optimal")


def _elsewhere(figures: SavedFigures | None) -> list[str]:
    if figures is None:
        return []
    pairs = ((tr("coverage"), figures.held_out_coverage), ("FFR", figures.held_out_ffr))
    range_texts = [f"{name} {interval_or_unknown(one)}" for name, one in pairs if one is not None]
    return [tr("On outputs held out: {figures}.", figures=", ".join(range_texts))] if range_texts else []


def _no_answer(source: FolderProblem) -> str:
    candidates = tr_n("{count} candidate", "{count} candidates", len(source.matrix.candidates))
    return tr("None of the {candidates} is chosen yet.", candidates=candidates)


def _notices(
    source: FolderProblem,
    columns: ChosenColumns,
    choice: SavedChoice | None,
    limits: SelectionLimits,
    contest: Contest | None,
) -> Iterator[str]:
    if choice is not None and (_is_outdated(source, columns, choice) or _is_regraded(source, choice, contest)):
        yield tr(
            "The candidates, outputs or labels have changed since this choice; choose again with `promptpex select`."
        )
    yield from (sentence(from_data(one)) for one in source.notices)
    short = shortages_of(source.examples, coverage=float(limits.coverage), ffr=float(limits.ffr))
    yield from (sentence(from_data(one.sentence)) for one in short)
    yield from indistinct_sentences(source.problem)


def _is_outdated(source: FolderProblem, columns: ChosenColumns, choice: SavedChoice) -> bool:
    """Whether the same candidates on the same labelled outputs would not be this choice with these figures."""
    if not source.not_comparable.keys().isdisjoint(columns.chosen or ()):
        return True
    labels = {one.id: one.label for one in source.examples}
    flagged = columns.flagged & (columns.good | columns.bad)
    now = {one.id for row, one in enumerate(source.matrix.examples) if flagged >> row & 1}
    return len(columns.chosen or ()) != len(choice.chosen) or labels != choice.labels or now != set(choice.flagged)


def _is_regraded(source: FolderProblem, choice: SavedChoice, contest: Contest | None) -> bool:
    if contest is None or choice.label_rules is None:
        return False
    return rule_labels(contest.graded, source.matrix.examples) != choice.rule_labels


def _grades(folder: SynthesisFolder, synthesis: Synthesis) -> tuple[Grade, ...]:
    """What people said, for their notes; nothing where it cannot be read: the labels stand in the examples."""
    try:
        return current(read_grades(sibling(folder.prompt(synthesis.prompt), "grades")))
    except InputError:
        return ()
