"""The chosen set of a synthesis folder, and what it was chosen from, as a report card needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction

from promptpex.alignment.card import CardContest
from promptpex.alignment.choose import FFR_LIMIT, CriterionChoice, Rated, chosen_of, lacking, why
from promptpex.alignment.cross_fit import WHOLE_SET, Chosen, chosen_by
from promptpex.alignment.graded_outputs import graded_outputs, with_labels
from promptpex.codecs.text.wording import NAMED
from promptpex.core.errors import InputError
from promptpex.core.records import CardCandidate, ConfusionCounts, Spec, Synthesis
from promptpex.core.translation import stored
from promptpex.grading.book import GradeBook
from promptpex.grading.labels import LabelRules
from promptpex.synthesis.choice.choose import choosing_by_labels
from promptpex.synthesis.choice.problem_of_folder import FolderProblem, read_folder
from promptpex.synthesis.choice.saved_choice import CHOICE, SavedChoice
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.results.matrix import ERROR, Matrix, distance_from_code
from promptpex.synthesis.selection.methods import Method
from promptpex.synthesis.selection.problem import SelectionLimits
from promptpex.workflow.choice_report import ChosenColumns, candidate_rows, check_text
from promptpex.workflow.choosing import Contest, contest_of, criteria_by_subject, label_rules_of

SECONDS = 20.0
"""For choosing a set anew in all folds."""

_BY = ("code", "python", "judge")


def card_contest(
    folder: SynthesisFolder, synthesis: Synthesis, spec: Spec, book: GradeBook, ffr: Fraction | None
) -> tuple[CardContest | None, tuple[str, ...]]:
    """The choice that is kept in the folder, on the grades of now; without one, or with a limit, that by alignment.

    None where there is nothing to choose from; and what to know, a sentence each.

    Args:
        ffr: the limit of a choice by alignment that is only looked at.
    """
    if not synthesis.candidates:
        return None, ()
    criterion_of = criteria_by_subject(synthesis, spec.rules)
    try:
        saved = CHOICE.read(folder.selection) if ffr is None else None
        aligned = saved is None or saved.method == "aligned"
        source = read_folder(
            folder.path,
            _limits(saved, ffr),
            screens=not aligned,
            labels=lambda some: with_labels(some, book),
            graded=lambda some: graded_outputs(some, book, criterion_of).any,
        )
    except InputError as failure:
        return None, (f"candidates are not on this card: {failure.message}",)
    graded = graded_outputs(source.matrix.examples, book, criterion_of)
    contest = contest_of(source, synthesis, graded, _limits(saved, ffr).ffr)
    choices = contest.choose()
    chosen = _kept(source, saved) if saved is not None else chosen_of(choices)
    states = _states(source, synthesis, saved) if saved is not None and not aligned else {}
    return (
        CardContest(
            method=saved.method if saved is not None else "aligned",
            limit=float(_limits(saved, ffr).ffr),
            kept=saved is not None,
            examples=tuple(source.matrix.examples),
            contenders=contest.contenders,
            graded=graded,
            choose=_chooser(source, contest, saved),
            chosen=chosen,
            criteria={one.id: contest.texts[one.id] for one in contest.wanted},
            subjects={criterion: subject for subject, criterion in criterion_of.items()},
            choice_rules=label_rules_of(saved).sentence() if saved is not None and saved.label_rules else "",
            choices=choices,
            candidates=tuple(_candidates(choices, source.matrix, states)),
            lacking=tuple(lacking(choices, contest.texts)) if aligned else (),
        ),
        (*source.notices, *_changed(saved, chosen, choices, book.rules), *_left_out(source)),
    )


def _limits(saved: SavedChoice | None, ffr: Fraction | None) -> SelectionLimits:
    if saved is None:
        return SelectionLimits(Fraction(), FFR_LIMIT if ffr is None else ffr)
    return saved.limits


def _kept(source: FolderProblem, saved: SavedChoice) -> frozenset[str]:
    """The candidates of the kept choice that can still be chosen from, with the check that they had."""
    return frozenset(
        one.id
        for number, one in enumerate(source.matrix.candidates)
        if saved.chosen.get(one.id) == one.fingerprint and number not in source.not_comparable
    )


def _left_out(source: FolderProblem) -> list[str]:
    sentences = [stored("not chosen from: {reason}", reason=why) for why in source.not_comparable.values()]
    more = len(sentences) - NAMED
    if more <= 0:
        return sentences
    rest = stored("{count} more are not chosen from; the report of `promptpex select` lists all", count=more)
    return [*sentences[:NAMED], rest]


def _changed(
    saved: SavedChoice | None, chosen: frozenset[str], choices: tuple[CriterionChoice, ...], rules: LabelRules
) -> tuple[str, ...]:
    if saved is None:
        return (stored("no set is chosen yet: this is what `promptpex select --method aligned` would choose"),)
    if saved.chosen.keys() != chosen:
        return (
            stored(
                "a chosen candidate is no longer available, or has another check: choose again with `promptpex select`"
            ),
        )
    has_changed = saved.method == "aligned" and chosen_of(choices) != chosen
    if has_changed and label_rules_of(saved) != rules:
        return (stored("by the labels of this card, which are made differently, another set would be chosen"),)
    if has_changed:
        return (stored("by the current grades another set would be chosen: choose again with `promptpex select`"),)
    return ()


def _chooser(source: FolderProblem, contest: Contest, saved: SavedChoice | None) -> Callable[[int], Chosen]:
    """Chooses by some examples in the way in which the set was chosen."""
    if saved is None or saved.method == "aligned":
        return lambda outputs: chosen_by(contest.wanted, contest.contenders, contest.graded.among(outputs))
    limits = _limits(saved, None)
    method: Method = saved.method
    choose = choosing_by_labels(source, method, limits, seconds=SECONDS)

    def by(outputs: int) -> Chosen:
        places = [place for place, row in enumerate(source.rows) if outputs >> row & 1]
        numbers = choose(places).chosen or ()
        names = frozenset(source.problem.name(number) for number in numbers)
        of_criteria = {
            one.id: frozenset(each.id for each in contest.contenders if one.id in each.criteria) & names
            for one in contest.wanted
        }
        return {**of_criteria, WHOLE_SET: names}

    return by


def _states(source: FolderProblem, synthesis: Synthesis, saved: SavedChoice) -> dict[str, tuple[str, str]]:
    """What became of each candidate in another choice than that by alignment."""
    candidates = candidate_rows(ChosenColumns.of(source, saved.chosen), synthesis)
    return {
        one["candidate"]: ("chosen" if one["state"] == "chosen" else "left-out", one["why"] or one["state"])
        for one in candidates
    }


def _candidates(
    choices: Iterable[CriterionChoice], matrix: Matrix, states: Mapping[str, tuple[str, str]]
) -> Iterator[CardCandidate]:
    numbers = {one.id: number for number, one in enumerate(matrix.candidates)}
    for choice in choices:
        for one in choice.rated:
            yield _candidate(one, choice, matrix, numbers[one.contender.id], states)


def _candidate(
    rated: Rated, choice: CriterionChoice, matrix: Matrix, number: int, states: Mapping[str, tuple[str, str]]
) -> CardCandidate:
    candidate = matrix.candidates[number]
    state, words = states.get(candidate.id, (rated.state, why(rated, choice)))
    return CardCandidate(
        id=candidate.id,
        criterion=choice.wanted.id,
        state=state,
        why=words,
        by=_BY[distance_from_code(candidate.check)],
        check=check_text(candidate.check),
        counts=ConfusionCounts(
            caught=rated.caught,
            missed=rated.bad - rated.caught,
            flagged=rated.flagged,
            kept=rated.good - rated.flagged,
        ),
        alignment=None if rated.alignment is None else float(rated.alignment),
        errors=matrix.where(number, ERROR).bit_count(),
    )
