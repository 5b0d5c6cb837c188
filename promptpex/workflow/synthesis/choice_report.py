"""The report of a choice from a synthesis folder: its answer in sentences, and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from promptpex.codecs.text.wording import sentence
from promptpex.core.errors import InputError
from promptpex.core.records import Grade, Synthesis
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.documents.human_grades import current, read_grades
from promptpex.promptfile import sibling
from promptpex.report.cards.choice_tables import CandidateRow, ExampleRow
from promptpex.report.percentages import as_given, interval_or_unknown, limits_not_kept, percent
from promptpex.synthesis.candidate_file import read_candidates
from promptpex.synthesis.choice.example_counts import shortages_of
from promptpex.synthesis.choice.problem_of_folder import FolderProblem, read_folder
from promptpex.synthesis.choice.saved_choice import CHOICE, SavedChoice, SavedCriterion, SavedFigures
from promptpex.synthesis.choice.screens import indistinct_sentences
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.selection.thresholds import SelectionLimits
from promptpex.workflow.alignment.choose_candidates import (
    FolderContest,
    contest_of_kept,
    label_rules_of,
    reasons_in,
    rule_labels,
)
from promptpex.workflow.synthesis.choice_rows import ChosenColumns, candidate_rows, example_rows


@dataclass(frozen=True, slots=True)
class ChoiceReport:
    """What there is to say of a choice.

    Attributes:
        answer: the choice in a sentence or two; or that there is none.
        labels: how grades became the labels of the choice, a sentence; empty where that is not known.
        notices: what one has to know before relying on the figures, a sentence each.
        candidates: in any order.
        examples: the bad ones, and the good ones that are flagged.
    """

    answer: str
    labels: str
    notices: tuple[str, ...]
    candidates: tuple[CandidateRow, ...]
    examples: tuple[ExampleRow, ...]


def report_of_folder(path: Path) -> ChoiceReport:
    """The report of the choice that is kept in a folder, or of the folder alone where there is none.

    Raises:
        InputError: the folder cannot be read.
    """
    choice = CHOICE.read(SynthesisFolder(path).selection)
    return report_of(path, read_folder(path, _limits(choice)), choice)


def report_of(path: Path, source: FolderProblem, choice: SavedChoice | None) -> ChoiceReport:
    """The report of a choice.

    Args:
        source: what the folder holds.
        choice: None where nothing was chosen.

    Raises:
        InputError: a file of the folder cannot be read.
    """
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
    return SelectionLimits(Fraction(str(choice.coverage_limit)), Fraction(str(choice.ffr_limit)))


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
    contest: FolderContest | None,
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


def _is_regraded(source: FolderProblem, choice: SavedChoice, contest: FolderContest | None) -> bool:
    """Whether people say something else of single criteria now than when these were chosen for."""
    if contest is None or choice.label_rules is None:
        return False
    return rule_labels(contest.graded, source.matrix.examples) != choice.rule_labels


def _grades(folder: SynthesisFolder, synthesis: Synthesis) -> tuple[Grade, ...]:
    """What people said, for their notes; nothing where it cannot be read: the labels stand in the examples."""
    try:
        return current(read_grades(sibling(folder.prompt(synthesis.prompt), "grades")))
    except InputError:
        return ()
