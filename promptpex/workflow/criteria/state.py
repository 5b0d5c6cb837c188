"""Criteria and candidates as the local page shows them: what stands in the files, what people's grades come to, and
what candidates say of the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from promptpex.codecs.text.wording import cut
from promptpex.core.records import Candidate, Criterion, Example, Rule, Synthesis
from promptpex.core.records.criteria_board import AskedCriteria, CandidateState, ShownCandidate, ShownCriterion
from promptpex.core.translation import Key, stored, tr, tr_n
from promptpex.documents.ownership import owned_by_people
from promptpex.grading.book import GradeBook, subject_of_criterion
from promptpex.synthesis.choice.screens import Screened, reworded_since, screened
from promptpex.synthesis.edit_criteria import form_of, shown
from promptpex.synthesis.results.matrix import ERROR, FAIL, PASS, Matrix, admits, in_force, may_ask

USUAL_LIMIT = 0.2
"""The share of good outputs that an assertion may flag where its criterion sets no limit (the study's default)."""
WAYS_OUT = Key("Ask for others, write one, keep the criterion without an assertion, or delete it.")
_CULLING = ("always-errs", "same-results")


@dataclass(frozen=True)
class BoardSources:
    """What the page is made of."""

    synthesis: Synthesis
    rules: Sequence[Rule]
    pool: tuple[Example, ...]
    book: GradeBook
    matrix: Matrix
    asked: AskedCriteria
    unanswered: Mapping[str, str] = field(default_factory=dict)
    arriving: frozenset[str] = frozenset()

    @cached_property
    def graded(self) -> list[Example]:
        """The outputs of which anybody said anything."""
        return self.book.having_grades(self.pool)

    @cached_property
    def _measuring(self) -> list[Example]:
        """Those of them that no author is shown."""
        return [one for one in self.graded if not one.is_shown]

    @cached_property
    def _texts_of_rules(self) -> dict[str, str]:
        return {rule.id: rule.rule for rule in self.rules}

    def subject(self, criterion: Criterion) -> str:
        return subject_of_criterion(criterion, self._texts_of_rules)

    def measured(self, criterion: Criterion) -> tuple[list[str], list[str]]:
        """The ids of the good outputs and of the bad ones by this criterion that no author was shown."""
        subject = self.subject(criterion)
        labels = [(one.id, self.book.joint(one, subject).label) for one in self._measuring]
        return [name for name, label in labels if label == "good"], [name for name, label in labels if label == "bad"]


def shown_criteria(sources: BoardSources, working: Mapping[str, str]) -> tuple[ShownCriterion, ...]:
    """The criteria in the file's order, each with its candidates."""
    rows = _CandidateRows(sources)
    notes = {grade.id: grade.note for grade in sources.book.grades}
    return tuple(_shown(sources, one, rows, notes, working.get(one.id, "")) for one in sources.synthesis.criteria)


def _shown(
    sources: BoardSources,
    criterion: Criterion,
    rows: _CandidateRows,
    notes: Mapping[str, str],
    working: str,
) -> ShownCriterion:
    counts = sources.book.counts(sources.subject(criterion), sources.graded)
    candidates = rows.of(criterion)
    asked_criterion = sources.asked.of(criterion.id)
    is_same = asked_criterion is not None and asked_criterion.wording == criterion.wording
    verdict, is_lacking = ("", False) if working else verdict_of(criterion, candidates, was_asked=is_same)
    return ShownCriterion(
        id=criterion.id,
        text=criterion.text,
        comes_from=comes_from(criterion),
        rule=criterion.rule,
        by=criterion.by,
        selected=criterion.selected,
        max_ffr=criterion.max_ffr,
        must=criterion.must,
        notes=tuple(notes[name] for name in criterion.notes if notes.get(name)),
        good=counts.good,
        bad=counts.bad,
        unsure=counts.unsure + counts.disagree,
        stale=counts.stale,
        candidates=candidates,
        refused=asked_criterion.refused if asked_criterion is not None and is_same else {},
        verdict=verdict,
        is_lacking=is_lacking,
        working=working,
    )


def comes_from(criterion: Criterion) -> str:
    """Where a criterion comes from, in words."""
    if criterion.rule is not None:
        return stored("rule {rule} of the spec", rule=criterion.rule)
    if criterion.notes:
        count = len(criterion.notes)
        return stored("from {count} note", count=1) if count == 1 else stored("from {count} notes", count=count)
    if criterion.version is not None:
        return stored("added by version {version}", version=criterion.version)
    inferred, written = stored("inferred from the prompt"), stored("written by a person")
    return inferred if criterion.origin == "extracted" else written


def verdict_of(criterion: Criterion, candidates: Sequence[ShownCandidate], *, was_asked: bool) -> tuple[str, bool]:
    """What to know of a criterion's candidates as a whole, and whether there is something to do about it.

    A candidate is good if it keeps to the limit of false alarms and catches a bad output, where there are any.
    """
    if not criterion.selected:
        return tr("Set aside: it is not graded, and its candidates are neither run nor chosen from."), False
    if not candidates:
        if not was_asked:
            return tr("No candidate yet."), True
        return _with_ways_out(tr("The author gave no candidate that can be used.")), True
    left = [one for one in candidates if one.state != "aside" and one.choice != "never"]
    if not left:
        return _with_ways_out(_why_none_is_left(criterion)), True
    if all(one.outdated and one.choice != "must" for one in left):
        return tr(
            "Its candidates were written for another wording. Ask for new ones, or say that they still fit."
        ), True
    left = [one for one in left if not one.outdated or one.choice == "must"]
    if all(one.state == "culled" and one.errors for one in left):
        return _with_ways_out(tr("Each of its candidates errs on every output.")), True
    return _by_grades(criterion, left)


def _by_grades(criterion: Criterion, left: Sequence[ShownCandidate]) -> tuple[str, bool]:
    limit = USUAL_LIMIT if criterion.max_ffr is None else criterion.max_ffr
    run = [one for one in left if not one.waiting and one.state == "kept"]
    graded = max((one.good + one.bad for one in left), default=0)
    if not run:
        return tr("Its candidates have not been run on all outputs yet."), False
    if not graded:
        return tr("No output is graded by this criterion yet, so it is not known how good they are."), False
    good = [one for one in run if one.flagged <= limit * one.good and (one.caught or not one.bad)]
    if good:
        return _agreeing(len(good), len(run), tried=any(one.bad for one in good)), False
    none = tr(
        "None is good: each flags more than {share} of the good outputs, or catches no bad one.", share=f"{limit:.0%}"
    )
    return _with_ways_out(none), True


def _agreeing(good: int, run: int, *, tried: bool) -> str:
    """How many of the candidates that were run agree with people."""
    candidates = tr_n("{count} candidate", "{count} candidates", run)
    if tried:
        return tr_n(
            "{count} of {candidates} agrees with people so far.",
            "{count} of {candidates} agree with people so far.",
            good,
            candidates=candidates,
        )
    return tr_n(
        "{count} of {candidates} agrees with people so far; nobody has reported a failure yet.",
        "{count} of {candidates} agree with people so far; nobody has reported a failure yet.",
        good,
        candidates=candidates,
    )


def _why_none_is_left(criterion: Criterion) -> str:
    if criterion.by == "code":
        return tr("It is to be decided by code, but its candidates ask a judge.")
    if criterion.by == "judge":
        return tr("It is to be decided by a judge, but its candidates are code.")
    return tr("Every candidate is rejected.")


def _with_ways_out(sentence: str) -> str:
    return f"{sentence} {WAYS_OUT.tr()}"


class _CandidateRows:
    """The candidates as they are shown; what holds of all of them is found once."""

    def __init__(self, sources: BoardSources) -> None:
        self._sources = sources
        self._numbers = {one.id: number for number, one in enumerate(sources.matrix.candidates)}
        self._reworded = reworded_since(sources.matrix.candidates, sources.synthesis.criteria)
        self._rows = {one.id: row for row, one in enumerate(sources.matrix.examples)}
        self._taking_part = {one.id for one in in_force(sources.synthesis)}

    def of(self, criterion: Criterion) -> tuple[ShownCandidate, ...]:
        of_criterion = [one for one in self._sources.synthesis.candidates if criterion.id in one.criteria]
        good, bad = (self._bits(names) for names in self._sources.measured(criterion))
        screens = self._screens(criterion)
        return tuple(self._row(one, criterion, good, bad, screens) for one in of_criterion)

    def _screens(self, criterion: Criterion) -> dict[int, Screened]:
        """What tells nothing among the candidates of a criterion, by their numbers: each criterion is chosen for by
        itself, so that the same check may serve another one too."""
        candidates = self._sources.matrix.candidates
        own_screens = {
            number for number, one in enumerate(candidates) if criterion.id in one.criteria and admits(criterion, one)
        }
        others = set(range(len(candidates))) - own_screens
        return {one.candidate: one for one in screened(self._sources.matrix, others | self._reworded.keys())}

    def _bits(self, names: Sequence[str]) -> int:
        return sum(1 << self._rows[name] for name in names if name in self._rows)

    def _row(
        self, candidate: Candidate, criterion: Criterion, good: int, bad: int, screens: Mapping[int, Screened]
    ) -> ShownCandidate:
        form = form_of(candidate.check)
        about = ShownCandidate(
            id=candidate.id,
            description=candidate.description,
            form=form,
            text=shown(candidate.check),
            asks=may_ask(candidate.check),
            choice=candidate.choice,
            outdated=candidate.is_outdated([criterion]),
            yours=owned_by_people(candidate.origin),
            arriving=candidate.id in self._sources.arriving,
        )
        number = self._numbers.get(candidate.id)
        if number is None or candidate.id not in self._taking_part or not admits(criterion, candidate):
            return about.replace(state="aside", why=_why_aside(criterion, candidate))
        matrix = self._sources.matrix
        waiting = matrix.unknown(number)
        state, why = _fate(matrix, number, screens.get(number))
        flags, is_run = matrix.where(number, FAIL, ERROR), ~waiting
        return about.replace(
            state=state,
            why=self._sources.unanswered.get(candidate.id, "") if state == "waiting" else why,
            passes=matrix.where(number, PASS).bit_count(),
            fails=matrix.where(number, FAIL).bit_count(),
            errors=matrix.where(number, ERROR).bit_count(),
            waiting=waiting.bit_count(),
            caught=(flags & bad).bit_count(),
            bad=(bad & is_run).bit_count(),
            flagged=(flags & good).bit_count(),
            good=(good & is_run).bit_count(),
        )


def _fate(matrix: Matrix, number: int, screen: Screened | None) -> tuple[CandidateState, str]:
    if matrix.unknown(number):
        return "waiting", ""
    if screen is not None:
        return ("culled" if screen.state in _CULLING else "kept"), screen.sentence
    errors = matrix.errors[number]
    if errors:
        reason, count = errors.most_common(1)[0]
        words = tr_n(
            "errs on {count} output: {reason}", "errs on {count} outputs: {reason}", count, reason=cut(reason, 160)
        )
        return "kept", words
    return "kept", ""


def _why_aside(criterion: Criterion, candidate: Candidate) -> str:
    if not criterion.selected:
        return stored("the criterion is set aside")
    return (
        stored("the criterion is to be decided by code alone")
        if criterion.by == "code"
        else stored("it is to be decided by a judge")
    )
