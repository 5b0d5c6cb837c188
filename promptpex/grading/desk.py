"""The grading desk: hands out items to graders, and keeps their grades on disk and in the book.

Several graders may share a desk, and several desks, in other processes too, a file: what others add is read before
anything is handed out or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from threading import RLock
from typing import Any

from pydantic import ValidationError

from promptpex.codecs import jsonl
from promptpex.codecs.files.ordinary_files import FileState, state_of
from promptpex.codecs.text.wording import cut
from promptpex.core.errors import GradeError
from promptpex.core.records import OUTPUT_SUBJECT, Example, Grade, GradeValue
from promptpex.core.surrogates import replace_surrogates
from promptpex.documents.human_grades import append_grades, read_grades
from promptpex.documents.record_problems import record_problems
from promptpex.grading.book import GradeBook, Joint, Subject
from promptpex.grading.labels import LabelRules
from promptpex.grading.next_item import (
    DEFAULT_POLICY,
    GradingState,
    Opinions,
    Progress,
    choose,
    is_unseen,
    progress_of,
    require_policy,
    sigmas,
)
from promptpex.grading.random_sample import SEED


class KeptBook:
    """The grades of a file, to which several processes may add."""

    def __init__(self, path: Path, subjects: Iterable[Subject], rules: LabelRules) -> None:
        self.path, self.rules = path, rules
        self._file: FileState | None = None
        self.regard(subjects)

    @property
    def book(self) -> GradeBook:
        return self._book

    def regard(self, subjects: Iterable[Subject]) -> None:
        self._subjects = tuple(subjects)
        self._book = self._read()

    def refresh(self) -> GradeBook:
        if state_of(self.path) != self._file:
            self._book = self._read()
        return self._book

    def append(self, grade: Grade) -> None:
        before = 0 if self._file is None else self._file.size
        append_grades(self.path, [grade])
        self._file = state_of(self.path)
        alone = self._file is not None and self._file.size == before + len(jsonl.dump_record(grade).encode())
        self._book = self._book.adding(grade) if alone else self._read()

    def _read(self) -> GradeBook:
        self._file = state_of(self.path)
        return GradeBook.of(read_grades(self.path), self._subjects, self.rules)


SECOND_SHARE = 0.1
"""The share of assignments that show a grader what another one has graded, without saying so."""
SECOND_OPINION, ADJUDICATED = "second-opinion", "adjudicated"
"""Policies of the desk itself: a second opinion, and an item about which graders differ, for the one who decides."""
IMPORTED = "imported"
"""Case and model of an item that comes from no case of a run."""
HELD_MINUTES = 30
"""How long an item that one grader has before them is not handed to another one."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """An item for a grader."""

    item: Example
    policy: str
    probability: float | None
    subjects: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class _HandedOut:
    """What a grader has before them, the policy that was asked for, and since when."""

    assignment: Assignment
    policy: str
    time: datetime


def utc_now() -> datetime:
    """The time now, with its offset."""
    return datetime.now(UTC)


class GradingDesk:
    """Hands out items and takes grades. It may be used from several threads.

    Args:
        pool: the items; each id once.
        subjects: all that can be graded; those that are not ``asked`` are only read.
        path: the file of grades; it need not exist.
        rules: how grades become labels.
        opinions: what machines say of the items.
        policy: how the next item is chosen, one of ``POLICIES``.
        ask: the ids of the subjects that must be graded before an item is done.
        second_share: the share of second opinions among assignments.
        seed: of all that is random.
        clock: gives times with an offset.

    Raises:
        GradeError: the file of grades cannot be read, with its line.
        InputError: no policy is called that.
    """

    def __init__(
        self,
        pool: Sequence[Example],
        subjects: Sequence[Subject],
        path: Path,
        *,
        rules: LabelRules | None = None,
        opinions: Opinions | None = None,
        policy: str = DEFAULT_POLICY,
        ask: Sequence[str] = (OUTPUT_SUBJECT,),
        second_share: float = SECOND_SHARE,
        seed: int = SEED,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        require_policy(policy)
        self.policy, self.seed = policy, seed
        self.subjects = tuple(subjects)
        self.ask = tuple(ask)
        self.opinions: Opinions = opinions or {}
        self._sigma = sigmas(self.opinions)
        self._second_share = second_share
        self._clock, self._random = clock, Random(seed)
        self.pool = tuple(pool)
        self._items: Mapping[str, Example] = {item.id: item for item in pool}
        self._lock = RLock()
        self._out: dict[str, _HandedOut] = {}
        self._kept = KeptBook(path, subjects, rules or LabelRules())

    @property
    def path(self) -> Path:
        return self._kept.path

    @property
    def book(self) -> GradeBook:
        return self._kept.book

    @property
    def judged(self) -> frozenset[str]:
        opinions = (one for each in self.opinions.values() for one in each)
        return frozenset(one.subject for one in opinions if one.source == "judge" and one.status != "none")

    def item(self, item_id: str) -> Example:
        """The output with this key."""
        item = self._items.get(item_id)
        if item is None:
            raise GradeError(f"the output {cut(item_id, 60)!r} is not among those that are graded; load the page again")
        return item

    def subject(self, subject_id: str) -> Subject:
        """What is graded under this id."""
        subject = next((one for one in self.subjects if one.id == subject_id), None)
        if subject is None:
            message = f"there is no rule or criterion {cut(subject_id, 60)!r} any more; load the page again"
            raise GradeError(message)
        return subject

    def refresh(self) -> GradeBook:
        with self._lock:
            return self._kept.refresh()

    def regard(self, subjects: Sequence[Subject], opinions: Opinions | None = None) -> None:
        """Takes up what can be graded now: criteria come, go and are reworded while people grade.

        Args:
            opinions: what machines say now; None = as before.
        """
        with self._lock:
            if tuple(subjects) != self.subjects:
                had_all = len(self.ask) > 1 and {one.id for one in self.subjects if one.asked} <= set(self.ask)
                self.subjects = tuple(subjects)
                asked_ids = tuple(one.id for one in subjects if one.asked)
                to_ask = asked_ids if had_all else tuple(name for name in self.ask if name in asked_ids)
                self.ask = to_ask or (OUTPUT_SUBJECT,)
                self._out.clear()
                self._kept.regard(subjects)
            if opinions is not None:
                self.opinions, self._sigma = opinions, sigmas(opinions)

    def next(self, grader: str, policy: str | None = None) -> Assignment | None:
        """What this grader shall grade next; the same until it is graded. None where nothing is left.

        Args:
            policy: how it is chosen; None = as the desk does. Another one than before makes a new choice.
        """
        policy = policy or self.policy
        with self._lock:
            self.refresh()
            handed_out = self._out.get(grader)
            if (
                handed_out is not None
                and handed_out.policy == policy
                and not self._has_graded(handed_out.assignment, grader)
            ):
                return handed_out.assignment
            assignment = self._adjudication(grader) or self._drawn(grader, policy)
            self._out.pop(grader, None)
            if assignment is not None:
                self._out[grader] = _HandedOut(assignment, policy, self._clock())
            return assignment

    def give(
        self,
        grader: str,
        item_id: str,
        subject_id: str,
        value: GradeValue,
        note: str = "",
        assignment: Assignment | None = None,
    ) -> Grade:
        """Writes a grade, in the place of this grader's earlier one on the same; it is on disk when this returns."""
        grader, words = replace_surrogates(grader), replace_surrogates(note)
        with self._lock:
            self.refresh()
            item, subject = self.item(item_id), self.subject(subject_id)
            before = self.book.tip(grader, item_id, subject_id)
            if before is not None and _says(before, value, words, subject):
                return before
            how = _policy(assignment if assignment is not None and assignment.item.id == item_id else before)
            grade = _grade_of(
                item,
                subject,
                {**how, "value": value, "note": words, "time": self._now(grader), "grader": grader},
                before,
            )
            self._kept.append(grade)
            return grade

    def undo(self, grader: str) -> Grade | None:
        """Takes this grader's latest grade on an item of the pool back, and gives it; None where there is none.

        What the grader said before of the same holds again; called again, it goes one more step back.
        """
        with self._lock:
            self.refresh()
            latest = self.book.latest_of(grader, self._items)
            if latest is None:
                return None
            before = self.book.before(latest)
            if before is None or before.withdrawn:
                self._kept.append(latest.instead_of(latest, withdrawn=True, time=self._now(grader)))
            else:
                self._kept.append(before.instead_of(latest))
            self._out.pop(grader, None)
            return latest

    def progress(self, grader: str) -> Progress:
        with self._lock:
            return progress_of(self.book, self.pool, self.ask, grader)

    def is_graded_by(self, grader: str, item_id: str) -> bool:
        return self._has_said(self.item(item_id), self.ask, grader)

    def lacking(self) -> dict[str, int]:
        """By the ids of subjects of which judges say something, how many outputs are bad on the whole and not graded on
        the subject, so that its random sample ends before them; those without any are left out."""
        with self._lock:
            graded = self.book.having_grades(self.pool)
            bad = [item for item in graded if self.book.joint(item, OUTPUT_SUBJECT).label == "bad"]
            named = [one.id for one in self.subjects if one.asked and one.id in self.judged]
            counts = {name: sum(not self.book.joint(item, name).graded for item in bad) for name in named}
            return {name: count for name, count in counts.items() if count}

    def to_ask(self, item: Example) -> tuple[Subject, ...]:
        """What nobody who counts has graded of an item, and what was graded under older words."""
        book = self.book
        stale = book.has_stale
        return tuple(
            subject
            for subject in self.subjects
            if (subject.id in self.ask or (stale and subject.asked and book.joint(item, subject.id).stale))
            and not book.joint(item, subject.id).graded
        )

    def _adjudication(self, grader: str) -> Assignment | None:
        if self._kept.rules.adjudicator != grader:
            return None
        for item in self.book.having_grades(self.pool):
            joints = {subject: self.book.joint(item, subject.id) for subject in self.subjects if subject.asked}
            subjects = tuple(subject for subject, joint in joints.items() if _waits_for(grader, joint))
            if subjects:
                return Assignment(item, ADJUDICATED, None, subjects)
        return None

    def _drawn(self, grader: str, policy: str) -> Assignment | None:
        """An item that nobody has graded or, now and then, one that others have."""
        graded = self.book.having_grades(self.pool)
        unseen = [item for item in graded if is_unseen(self.book, item, self.ask, grader)]
        share = self._second_share if unseen else 0.0
        if share and self._random.random() < share:
            item = self._random.choice(unseen)
            subjects = tuple(one for one in self.subjects if one.id in self.ask)
            return Assignment(item, SECOND_OPINION, share / len(unseen), subjects)
        held_by_others = self._held_by_others(grader)
        unavailable = held_by_others.keys() | {item.id for item in graded if not self.to_ask(item)}
        left = [item for item in self.pool if item.id not in unavailable]
        if not left:
            return None
        state = GradingState(self.pool, self.book, self._sigma, self.seed, held_by_others)
        chosen = choose(policy, left, state)
        return Assignment(chosen.item, chosen.policy, chosen.probability * (1 - share), self.to_ask(chosen.item))

    def _held_by_others(self, grader: str) -> dict[str, str]:
        """The policy that chose each item that another grader has, by the item's id."""
        since = self._clock() - timedelta(minutes=HELD_MINUTES)
        held = ((one.assignment, one.time) for name, one in self._out.items() if name != grader)
        return {one.item.id: one.policy for one, time in held if time > since}

    def _has_graded(self, assignment: Assignment, grader: str) -> bool:
        return self._has_said(assignment.item, [subject.id for subject in assignment.subjects], grader)

    def _has_said(self, item: Example, subjects: Sequence[str], grader: str) -> bool:
        return all(any(vote.grader == grader for vote in self.book.joint(item, name).votes) for name in subjects)

    def _now(self, grader: str) -> str:
        """The time now, later than that of anything this grader said, whatever another computer's clock shows."""
        now, last = self._clock(), self.book.last_time(grader)
        return (now if last is None else max(now, last + timedelta(microseconds=1))).isoformat()


def _waits_for(adjudicator: str, joint: Joint) -> bool:
    """Whether others differ about it, and who decides has not said anything."""
    some_clear = not joint.derived and any(vote.value != "unsure" for vote in joint.votes)
    return joint.label is None and some_clear and all(vote.grader != adjudicator for vote in joint.votes)


def _says(grade: Grade, value: GradeValue, note: str, subject: Subject) -> bool:
    same_words = grade.subject_digest == subject.digest
    return same_words and not grade.withdrawn and (grade.value, grade.note) == (value, note)


def _policy(source: Assignment | Grade | None) -> dict[str, object]:
    return {} if source is None else {"policy": source.policy, "probability": source.probability}


def _grade_of(item: Example, subject: Subject, fields: dict[str, Any], before: Grade | None) -> Grade:
    try:
        return Grade.of(
            inputs=item.inputs,
            output=item.output,
            subject=subject.id,
            subject_text=subject.text,
            case=replace_surrogates(item.case) or IMPORTED,
            model=replace_surrogates(item.model) or IMPORTED,
            repeat=item.repeat,
            replaces=before.id if before is not None else None,
            **fields,
        )
    except ValidationError as failure:
        raise GradeError(record_problems(failure, Grade)[0].message) from None
