"""The report of a choice from a synthesis folder: what is read for it, and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from promptpex.codecs.text.wording import sentence
from promptpex.core.errors import InputError
from promptpex.core.records import Grade, History, Synthesis
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.documents.human_grades import current, read_grades
from promptpex.promptfile import messages_text, read, sibling
from promptpex.report.caveats_in_words import FEW
from promptpex.report.choices import files
from promptpex.report.choices.records import ChoicePage, ChosenShare, PageCurve, PagePoint
from promptpex.report.percentages import as_given, interval_or_unknown, limits_not_kept, limits_of_choice, percent
from promptpex.stats import Interval
from promptpex.synthesis.candidate_file import read_candidates
from promptpex.synthesis.choice.example_counts import shortages_of
from promptpex.synthesis.choice.problem_of_folder import FolderProblem, read_folder
from promptpex.synthesis.choice.saved_choice import CHOICE, SavedChoice, SavedCriterion, SavedFigures, SavedPoint
from promptpex.synthesis.choice.screens import indistinct_sentences
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.json_record_file import history_in
from promptpex.synthesis.results.counted_implications import implication_states
from promptpex.synthesis.results.matrix import MatrixFile
from promptpex.synthesis.selection.thresholds import SelectionLimits
from promptpex.workflow.alignment.choose_candidates import (
    FolderContest,
    contest_of_kept,
    label_rules_of,
    reasons_in,
    rule_labels,
)
from promptpex.workflow.synthesis.choice_page_data import (
    ChosenColumns,
    page_candidates,
    page_examples,
    page_implications,
)
from promptpex.workflow.synthesis.history_parts import category_counts, page_pieces, page_versions


@dataclass(frozen=True, slots=True)
class NoChoice:
    """That no set keeps the limits.

    Attributes:
        sentences: why not.
        curve: what could be had at other limits.
    """

    limits: SelectionLimits
    sentences: tuple[str, ...] = ()
    curve: tuple[SavedPoint, ...] = ()


def report_of_folder(path: Path) -> tuple[ChoicePage, Path]:
    """Writes the report of the choice that is kept in a folder, or of the folder alone where there is none.

    Returns:
        What the page says, and where it is.

    Raises:
        InputError: the folder cannot be read, or the report not be written.
    """
    page = page_of_folder(path)
    return page, files.write(page, path)


def page_of_folder(path: Path) -> ChoicePage:
    """What there is to say of the choice that is kept in a folder, or of the folder alone where there is none.

    Raises:
        InputError: the folder cannot be read.
    """
    choice = CHOICE.read(SynthesisFolder(path).selection)
    return _page_of(path, read_folder(path, _limits(choice)), choice)


def write_report(path: Path, source: FolderProblem, choice: SavedChoice | NoChoice | None) -> tuple[ChoicePage, Path]:
    """Writes the report of a choice into its folder.

    Args:
        source: what the folder holds.
        choice: None where nothing was chosen yet.

    Raises:
        InputError: a file of the folder cannot be read, or the report not be written.
    """
    page = _page_of(path, source, choice)
    return page, files.write(page, path)


def _page_of(path: Path, source: FolderProblem, choice: SavedChoice | NoChoice | None) -> ChoicePage:
    folder = SynthesisFolder(path)
    synthesis = read_candidates(folder.candidates)
    history = history_in(folder.versions, synthesis.prompt)
    return _page(folder, source, choice, synthesis, history)


def _page(
    folder: SynthesisFolder,
    source: FolderProblem,
    choice: SavedChoice | NoChoice | None,
    synthesis: Synthesis,
    history: History,
) -> ChoicePage:
    saved = choice if isinstance(choice, SavedChoice) else None
    limits = choice.limits if isinstance(choice, NoChoice) else _limits(saved)
    columns = ChosenColumns.of(source, None if saved is None else saved.chosen)
    chosen = {source.matrix.candidates[number].id for number in columns.chosen or ()}
    implications = implication_states(source.matrix, synthesis.implications, limits)
    figures = saved.figures if saved is not None else None
    aligned = saved if saved is not None and saved.method == "aligned" else None
    contest = contest_of_kept(source, synthesis, folder, aligned) if aligned is not None else None
    return ChoicePage(
        prompt=synthesis.prompt,
        has_choice=saved is not None,
        answer=_answer(columns, saved) if saved else _no_answer(choice, source, limits),
        why_none=choice.sentences if isinstance(choice, NoChoice) else (),
        labels=tr("Labels: {rules}.", rules=from_data(label_rules_of(saved).sentence()))
        if saved is not None and saved.label_rules is not None
        else "",
        notices=tuple(_notices(source, columns, saved, limits, contest)),
        changes=figures.changes if figures else (),
        good=columns.good.bit_count(),
        bad=columns.bad.bit_count(),
        unlabelled=len(source.matrix.examples) - len(source.rows),
        shares=tuple(_shares(columns, figures, limits)) if figures else (),
        candidates=page_candidates(columns, synthesis, reasons_in(source, contest) if contest is not None else None),
        examples=page_examples(columns, MatrixFile(folder.matrix), _grades(folder, synthesis)),
        implications=page_implications(implications),
        followed=implications.followed,
        curve=_curve(choice, figures, limits),
        pieces=page_pieces(_prompt_text(folder, synthesis, history), history.deltas),
        versions=page_versions(history),
        categories=category_counts(history.deltas, synthesis, chosen),
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


def _no_answer(choice: SavedChoice | NoChoice | None, source: FolderProblem, limits: SelectionLimits) -> str:
    candidates = tr_n("{count} candidate", "{count} candidates", len(source.matrix.candidates))
    if choice is None:
        return tr("None of the {candidates} is chosen yet.", candidates=candidates)
    limits_text = limits_of_choice(float(limits.coverage), float(limits.ffr))
    return tr(
        "None of the {candidates} is chosen: the limits were {limits}.", candidates=candidates, limits=limits_text
    )


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


def _shares(columns: ChosenColumns, figures: SavedFigures, limits: SelectionLimits) -> Iterator[ChosenShare]:
    """Coverage and FFR where the choice was made, on outputs held out, and on those without a label, too."""
    of_sets = limits.coverage > 0
    share_limits = {
        tr("coverage"): tr("at least {share}", share=as_given(float(limits.coverage))) if of_sets else "",
        "FFR": _most_ffr(as_given(float(limits.ffr)), of_sets=of_sets),
    }
    own = ((tr("coverage"), figures.coverage), ("FFR", figures.ffr))
    where = tr("the outputs that it was chosen by")
    yield from (_share(name, where, one, share_limits[name]) for name, one in own if one)
    where = tr_n("outputs held out, {count} fold", "outputs held out, {count} folds", figures.folds)
    if figures.folds_without_a_set:
        where += "; " + tr("in {count} no set keeps the limits", count=figures.folds_without_a_set)
    held_out = ((tr("coverage"), figures.held_out_coverage), ("FFR", figures.held_out_ffr))
    yield from (_share(name, where, one, share_limits[name]) for name, one in held_out if one)
    if figures.ffr_of_all_outputs is not None:
        where = tr("all outputs, {count} of them without a label", count=figures.unlabelled)
        yield ChosenShare("FFR", where, figures.ffr_of_all_outputs, "", share_limits["FFR"])


def _most_ffr(share: str, *, of_sets: bool) -> str:
    return tr("at most {share}", share=share) if of_sets else tr("at most {share} by each", share=share)


def _share(name: str, where: str, one: Interval, limit: str) -> ChosenShare:
    count = tr("{some} of {all}", some=round(one.estimate * one.n), all=one.n) if one.estimate is not None else ""
    return ChosenShare(name, where, one, count, limit, few=one.n < FEW)


def _curve(
    choice: SavedChoice | NoChoice | None, figures: SavedFigures | None, limits: SelectionLimits
) -> PageCurve | None:
    points: Sequence[SavedPoint] = choice.curve if isinstance(choice, NoChoice) else figures.curve if figures else ()
    if not points:
        return None
    return PageCurve(
        tuple(PagePoint(one.ffr, one.coverage, one.candidates, one.proven) for one in points),
        float(limits.ffr),
        float(limits.coverage),
        chosen=_point(figures.ffr, figures.coverage) if figures else None,
        held_out=_point(figures.held_out_ffr, figures.held_out_coverage) if figures else None,
    )


def _point(ffr: Interval | None, coverage: Interval | None) -> tuple[float, float] | None:
    if ffr is None or coverage is None or ffr.estimate is None or coverage.estimate is None:
        return None
    return ffr.estimate, coverage.estimate


def _prompt_text(folder: SynthesisFolder, synthesis: Synthesis, history: History) -> str:
    """The prompt of today; where its file is gone, its last version."""
    try:
        return messages_text(read(folder.prompt(synthesis.prompt)).messages)
    except InputError:
        return messages_text(history.versions[-1].messages) if history.versions else ""


def _grades(folder: SynthesisFolder, synthesis: Synthesis) -> tuple[Grade, ...]:
    """What people said, for their notes; nothing where it cannot be read: the labels stand in the examples."""
    try:
        return current(read_grades(sibling(folder.prompt(synthesis.prompt), "grades")))
    except InputError:
        return ()
