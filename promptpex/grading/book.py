"""The grade book: all grades of a prompt, and what they come to for an item and a subject."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import combinations
from typing import Literal

from promptpex.core.ids import text_digest
from promptpex.core.records import KEY_LENGTH, OUTPUT_SUBJECT, Criterion, Example, Grade, Rule, superseded
from promptpex.grading.labels import Label, LabelRules, Vote, accuracies, by_rules, counted, label_of, moment
from promptpex.grading.random_sample import SEED, random_sample, reached_by


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that is graded of an output.

    Attributes:
        id: ``output``, or the id of a rule or criterion.
        text: the rule's or criterion's words; empty for the whole output.
        needs: what a person must see to grade it; where the ``output`` alone decides, a grade holds for every item
            with the same text.
        kind: what it is.
        required: whether an output that has no grade on the whole must be graded good on it to be good: rules of the
            spec without a condition; criteria, where the spec has no rules.
        asked: whether it is put to people; a rule whose words are no longer in the prompt is not.
    """

    id: str
    text: str
    needs: Literal["output", "input"] = "input"
    kind: Literal["output", "rule", "criterion"] = "rule"
    required: bool = True
    asked: bool = True

    @property
    def digest(self) -> str | None:
        """What a grade on it as it reads now has as ``subject_digest``; None for the whole output."""
        return None if self.id == OUTPUT_SUBJECT else text_digest(self.text, KEY_LENGTH)


WHOLE = Subject(OUTPUT_SUBJECT, "", "input", "output", required=False)
"""The output as a whole."""


def subjects_of(rules: Iterable[Rule], criteria: Iterable[Criterion] = ()) -> tuple[Subject, ...]:
    """The whole output, then the rules, then the criteria that are not rules of the spec in the same words."""
    rules = tuple(rules)
    texts = {rule.id: rule.rule for rule in rules}
    of_rules = [
        Subject(rule.id, rule.rule, rule.needs, "rule", required=not rule.when and not rule.stale, asked=not rule.stale)
        for rule in rules
    ]
    of_criteria = [
        Subject(one.id, one.text, "input", "criterion", required=not rules)
        for one in criteria
        if subject_of_criterion(one, texts) == one.id
    ]
    return (WHOLE, *of_rules, *of_criteria)


def subject_of_criterion(criterion: Criterion, rules: dict[str, str]) -> str:
    """The id of the subject that people grade where this criterion is meant: its rule's, where both say the same.

    Args:
        rules: the text of the spec's rules by their ids.
    """
    if criterion.rule is not None and rules.get(criterion.rule) == criterion.text:
        return criterion.rule
    return criterion.id


Thing = tuple[str, str, str]
"""Who grades what: grader, key of the output, subject."""


@dataclass(frozen=True, slots=True)
class Joint:
    """What the grades on one subject of one item come to.

    Attributes:
        label: None where they come to none: nobody who counts has graded it, all are unsure, or they disagree.
        graded: whether somebody who counts has graded it, also as unsure.
        votes: one per grader.
        how: how the label came about, or why there is none, in words.
        stale: grades on an older text of the rule or criterion, of people who have not graded the present one: they do
            not count.
    """

    label: Label | None
    graded: bool
    votes: tuple[Vote, ...] = ()
    how: str = ""
    stale: tuple[Grade, ...] = ()

    @property
    def disputed(self) -> bool:
        """Whether one says good and another one bad."""
        return {"good", "bad"} <= {vote.value for vote in self.votes}

    @property
    def derived(self) -> bool:
        """Whether it follows from grades on the whole output alone."""
        return bool(self.votes) and all(vote.derived for vote in self.votes)


_NOT_GRADED = Joint(None, graded=False)


@dataclass(frozen=True, slots=True)
class GradeCounts:
    """How many items there are of each kind, for one subject; the first five add up to all items."""

    good: int = 0
    bad: int = 0
    unsure: int = 0
    disagree: int = 0
    ungraded: int = 0
    stale: int = 0
    derived: int = 0


@dataclass(frozen=True, slots=True)
class PersonPair:
    """Two graders on what both have graded."""

    first: str
    second: str
    table: tuple[tuple[int, int], tuple[int, int]]
    unsure: int


@dataclass(frozen=True)
class GradeBook:
    """All grades of a prompt as they are now; a further grade makes a further book.

    A grade on the whole output holds for the same text of the same inputs. So does one on a rule or criterion, but
    where the output alone decides it: that one holds for every item with this text. A good whole output is good on
    each of its rules and criteria, a bad one says nothing of a single one. What is good is so by all grades together: a
    good grade on an output that the others call bad says nothing of its rules by itself.

    Attributes:
        grades: all of them, those that no longer count too, in the file's order.
        subjects: by their ids.
        rules: how grades become labels.
    """

    grades: tuple[Grade, ...]
    subjects: Mapping[str, Subject]
    rules: LabelRules
    _by_key: Mapping[str, tuple[Grade, ...]] = field(repr=False)
    _by_text: Mapping[str, tuple[Grade, ...]] = field(repr=False)
    _tips: Mapping[Thing, Grade] = field(repr=False)
    _by_id: Mapping[str, Grade] = field(repr=False)
    _last: Mapping[str, datetime] = field(repr=False)
    _joints: dict[str, dict[str, Joint]] = field(default_factory=dict, repr=False, compare=False)
    _texts: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    _accuracies: dict[str, float] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _digests(self) -> dict[str, str | None]:
        return {subject.id: subject.digest for subject in self.subjects.values()}

    @cached_property
    def _required(self) -> frozenset[str]:
        """The subjects that must be good where nobody has graded the whole."""
        return frozenset(subject.id for subject in self.subjects.values() if subject.required)

    @classmethod
    def of(cls, grades: Iterable[Grade], subjects: Iterable[Subject], rules: LabelRules | None = None) -> GradeBook:
        """The book of these grades, in any order."""
        grades = tuple(grades)
        superseded_ids = superseded(grades)
        by_key: defaultdict[str, list[Grade]] = defaultdict(list)
        by_text: defaultdict[str, list[Grade]] = defaultdict(list)
        for grade in sorted((one for one in grades if one.id not in superseded_ids), key=moment):
            by_key[grade.key].append(grade)
            by_text[grade.output_digest].append(grade)
        book = cls(
            grades,
            {subject.id: subject for subject in subjects},
            rules or LabelRules(),
            {key: tuple(each) for key, each in by_key.items()},
            {text: tuple(each) for text, each in by_text.items()},
            _tips(grades),
            {grade.id: grade for grade in grades},
            _last(grades),
        )
        return book._weighed() if book.rules.graders == "accuracy" else book

    def adding(self, grade: Grade) -> GradeBook:
        """The book with one more grade; what it does not touch is not computed again."""
        superseded_ids = {grade.replaces, grade.id if grade.withdrawn else None}
        joints = {key: each for key, each in self._joints.items() if self._texts[key] != grade.output_digest}
        book = replace(
            self,
            grades=(*self.grades, grade),
            _by_key=_with(self._by_key, grade.key, grade, superseded_ids),
            _by_text=_with(self._by_text, grade.output_digest, grade, superseded_ids),
            _tips={**self._tips, _thing(grade): grade},
            _by_id={**self._by_id, grade.id: grade},
            _last={**self._last, **_last([grade], self._last)},
            _joints=joints,
        )
        return book._weighed() if self.rules.graders == "accuracy" else book

    def _weighed(self) -> GradeBook:
        weights = accuracies(self._all_votes())
        return self if weights == self._accuracies else replace(self, _accuracies=weights, _joints={})

    @property
    def graders(self) -> tuple[str, ...]:
        return tuple(sorted({grade.grader for each in self._by_key.values() for grade in each}))

    @property
    def accuracies(self) -> Mapping[str, float]:
        """Each grader's estimated accuracy, where labels are made by it; else empty."""
        return dict(self._accuracies)

    def joint(self, item: Example, subject_id: str = OUTPUT_SUBJECT) -> Joint:
        """What people's grades on a subject of an item come to."""
        joints = self._joints.get(item.id)
        if joints is None:
            if not self._has_grades(item):
                return _NOT_GRADED
            joints = self._joints.setdefault(item.id, {})
        if subject_id not in joints:
            joints[subject_id] = self._joint(item, self.subjects[subject_id])
        return joints[subject_id]

    def having_grades(self, items: Iterable[Example]) -> list[Example]:
        """Those of the items of which anybody said anything; of all others every joint is empty.

        Who counts something over a large pool after each grade looks at these alone.
        """
        texts, graded, keys = self._texts, self._by_text, self._by_key
        return [item for item in items if (texts.get(item.id) or self._text(item)) in graded or item.id in keys]

    def has_grades_on(self, key: str, output: str) -> bool:
        """Whether anybody said anything of the output with this key and text; unlike ``having_grades`` it remembers
        nothing of it."""
        return key in self._by_key or text_digest(output, KEY_LENGTH) in self._by_text

    def given_on(self, item: Example) -> tuple[Grade, ...]:
        """The grades that were given on this very item, not on another one with the same text; the latest last."""
        return self._by_key.get(item.id, ())

    def holding(self, item: Example, subject_id: str | None = None) -> tuple[Grade, ...]:
        """The grades that hold for an item, on one subject or on all, stale ones too; the latest last."""
        text = self._text(item)
        across = (one for one in self._by_text.get(text, ()) if one.key != item.id and self._is_about_text(one.subject))
        grades = sorted((*self.given_on(item), *across), key=moment)
        return tuple(one for one in grades if subject_id in (None, one.subject))

    def tip(self, grader: str, key: str, subject_id: str) -> Grade | None:
        """This grader's last word on a subject of the output with this key, also where it takes an earlier one back."""
        return self._tips.get((grader, key, subject_id))

    def last_time(self, grader: str) -> datetime | None:
        return self._last.get(grader)

    def latest_of(self, grader: str, keys: Container[str]) -> Grade | None:
        """The last grade of this grader that holds, on one of the outputs with these keys."""
        own = (
            tip for (name, key, _), tip in self._tips.items() if name == grader and key in keys and not tip.withdrawn
        )
        return max(own, key=moment, default=None)

    def before(self, grade: Grade) -> Grade | None:
        """What the grader had said before this grade; None where it was the first.

        A grade that was put back by an undo has the time at which it was given; it stands for that earlier one.
        """
        first = earlier = grade
        while (replaced := self._by_id.get(earlier.replaces or "")) is not None:
            earlier = replaced
            if not earlier.withdrawn and earlier.time == grade.time:
                first = earlier
        return self._by_id.get(first.replaces or "")

    @cached_property
    def has_stale(self) -> bool:
        return any(tip.subject in self.subjects and not self._is_current(tip) for tip in self._holding())

    @cached_property
    def outdated(self) -> int:
        """How many grades hold no more since their rule or criterion was reworded, or is gone."""
        return sum(not self._is_current(grade) for grade in self._holding())

    def partial(self, items: Iterable[Example]) -> int:
        """How often a person graded rules of an item, all of them good, and too few for a vote on the whole of it."""
        return sum(self._graders_of_rules(item) - len(self.joint(item).votes) for item in items)

    def counts(self, subject_id: str, items: Iterable[Example]) -> GradeCounts:
        """How many of the items are what."""
        kinds: Counter[str] = Counter()
        for item in items:
            joint = self.joint(item, subject_id)
            kinds[joint.label or _why_none(joint)] += 1
            kinds["stale"] += bool(joint.stale)
            kinds["derived"] += joint.label is not None and joint.derived
        return GradeCounts(**kinds)

    def random_sample(self, subject_id: str, items: Iterable[Example], seed: int = SEED) -> tuple[Example, ...]:
        """The items of the random sample: what every estimate rests on that claims to hold for all of these items.

        Of a rule or criterion that somebody graded it is the sample of what was graded on it or on the whole, if all
        of that is known of the rule; only the last item may be open, whose grading is not done yet. Were it simply
        what is graded on the rule it would end before the first output that is bad on the whole and was not graded
        further, since a good one is good on each rule: a sample that ends where it gets bad looks too good.
        """
        sample = self._looked_at(subject_id, items, seed)
        is_known = [self.joint(item, subject_id).graded for item in sample]
        if not all(is_known[:-1]):
            return ()
        return tuple(item for item, known in zip(sample, is_known, strict=True) if known)

    def open_in_sample(self, subject_id: str, items: Iterable[Example], seed: int = SEED) -> int:
        """How many items nobody has judged by this subject yet, without which it has no ``random_sample`` although
        something was graded on it; 0 where it has one."""
        is_known = [self.joint(item, subject_id).graded for item in self._looked_at(subject_id, items, seed)]
        return 0 if all(is_known[:-1]) else is_known.count(False)

    def _looked_at(self, subject_id: str, items: Iterable[Example], seed: int) -> tuple[Example, ...]:
        """The random sample of what was graded on a subject or on the whole; none where nobody graded the subject."""
        by_id = {item.id: item for item in items}
        joints = {item.id: self.joint(item, subject_id) for item in self.having_grades(by_id.values())}
        if all(joint.derived or not joint.graded for joint in joints.values()):
            return ()
        looked_at = {key for key, joint in joints.items() if joint.graded or self.joint(by_id[key]).graded}
        return tuple(by_id[key] for key in random_sample(by_id, looked_at, reached_by(self.grades), seed))

    def person_pairs(self, subject_id: str, items: Iterable[Example]) -> tuple[PersonPair, ...]:
        """What any two graders say of the items that both graded; items of one text are one where it alone decides."""
        tables: defaultdict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        things = {self._text(one) if self._is_about_text(subject_id) else one.id: one for one in items}
        for item in things.values():
            votes = sorted(self.joint(item, subject_id).votes, key=lambda vote: vote.grader)
            for first, second in combinations(votes, 2):
                tables[first.grader, second.grader][first.value, second.value] += 1
        return tuple(_pair(*names, table) for names, table in sorted(tables.items()))

    def _has_grades(self, item: Example) -> bool:
        return self._text(item) in self._by_text or item.id in self._by_key

    def _joint(self, item: Example, subject: Subject) -> Joint:
        stale: tuple[Grade, ...] = ()
        if subject.id == OUTPUT_SUBJECT:
            votes = self._whole_votes(item)
        else:
            votes, stale = self._subject_votes(item, subject)
        label, how = label_of(votes, self.rules, self._accuracies)
        joint = Joint(label, bool(counted(votes, self.rules)), tuple(votes), how, stale)
        return self._derived(item, subject, joint) if label is not None and joint.derived else joint

    def _derived(self, item: Example, subject: Subject, joint: Joint) -> Joint:
        """What votes on a rule come to that all follow from good grades on the whole output: no label where graders
        differ about the whole, and nothing where it is bad by all that they say."""
        keys = {item.id}
        if subject.needs == "output":
            same_text = self._by_text.get(self._text(item), ())
            keys = {one.key for one in same_text if (one.subject, one.value) == (OUTPUT_SUBJECT, "good")}
        wholes = {self.joint(item if key == item.id else item.replace(id=key)).label for key in keys}
        if "good" in wholes:
            return joint
        if None in wholes:
            return replace(joint, label=None, how="the graders disagree on the whole output")
        return replace(joint, label=None, graded=False, how="")

    def _whole_votes(self, item: Example) -> list[Vote]:
        """Each grader's vote on the whole output: the grade on it, else what those on single rules come to."""
        votes = []
        for grader, latest in _latest(self.holding(item)).items():
            whole = latest.pop(OUTPUT_SUBJECT, None)
            current = {name: grade for name, grade in latest.items() if self._is_current(grade)}
            vote = _vote(whole) if whole is not None else by_rules(grader, current, self._required, self.rules)
            votes += [vote] if vote is not None else []
        return votes

    def _subject_votes(self, item: Example, subject: Subject) -> tuple[list[Vote], tuple[Grade, ...]]:
        own = self.holding(item, subject.id)
        current = {grade.grader: grade for grade in own if self._is_current(grade)}
        old = {grade.grader: grade for grade in own if grade.grader not in current}
        wholes = self._by_text.get(self._text(item), ()) if subject.needs == "output" else self.given_on(item)
        good = {one.grader: one for one in wholes if one.subject == OUTPUT_SUBJECT and one.value == "good"}
        votes = [_vote(grade) for grade in current.values()]
        votes += [_vote(grade, derived=True) for grader, grade in good.items() if grader not in current]
        return votes, tuple(old.values())

    def _graders_of_rules(self, item: Example) -> int:
        """How many have graded the item by words that its subjects still have."""
        return len({grade.grader for grade in self.holding(item) if self._is_current(grade)})

    def _holding(self) -> Iterator[Grade]:
        """Each grader's last word on each thing, where it was not taken back."""
        return (tip for tip in self._tips.values() if not tip.withdrawn)

    def _all_votes(self) -> Iterator[Sequence[Vote]]:
        """The votes on every single thing that was graded, to estimate graders by."""
        things: defaultdict[tuple[str, str], dict[str, Vote]] = defaultdict(dict)
        for each in self._by_key.values():
            for grade in each:
                if grade.subject == OUTPUT_SUBJECT or self._is_current(grade):
                    about = grade.output_digest if self._is_about_text(grade.subject) else grade.key
                    things[about, grade.subject][grade.grader] = _vote(grade)
        return (tuple(votes.values()) for votes in things.values())

    def _is_current(self, grade: Grade) -> bool:
        return grade.subject in self._digests and self._digests[grade.subject] == grade.subject_digest

    def _is_about_text(self, subject_id: str) -> bool:
        subject = self.subjects.get(subject_id)
        return subject is not None and subject.needs == "output"

    def _text(self, item: Example) -> str:
        if item.id not in self._texts:
            self._texts[item.id] = text_digest(item.output, KEY_LENGTH)
        return self._texts[item.id]


def _why_none(joint: Joint) -> str:
    if not joint.graded:
        return "ungraded"
    return "disagree" if joint.disputed or joint.derived else "unsure"


def _latest(grades: Iterable[Grade]) -> dict[str, dict[str, Grade]]:
    latest: defaultdict[str, dict[str, Grade]] = defaultdict(dict)
    for grade in grades:
        latest[grade.grader][grade.subject] = grade
    return latest


def _last(grades: Iterable[Grade], known: Mapping[str, datetime] | None = None) -> dict[str, datetime]:
    last: dict[str, datetime] = {}
    for grade in grades:
        time = datetime.fromisoformat(grade.time)
        before = last.get(grade.grader) or (known or {}).get(grade.grader)
        last[grade.grader] = time if before is None else max(before, time)
    return last


def _thing(grade: Grade) -> Thing:
    return grade.grader, grade.key, grade.subject


def _tips(grades: Sequence[Grade]) -> dict[Thing, Grade]:
    """Each grader's last word on each thing."""
    replaced = {grade.replaces for grade in grades}
    last = sorted((grade for grade in grades if grade.id not in replaced), key=moment)
    return {_thing(grade): grade for grade in last}


def _vote(grade: Grade, *, derived: bool = False) -> Vote:
    return Vote(grade.grader, grade.value, moment(grade)[0], derived=derived)


def _with(
    groups: Mapping[str, tuple[Grade, ...]], name: str, grade: Grade, gone: set[str | None]
) -> dict[str, tuple[Grade, ...]]:
    valid_grades = [one for one in (*groups.get(name, ()), grade) if one.id not in gone]
    return {**groups, name: tuple(sorted(valid_grades, key=moment))}


def _pair(first: str, second: str, table: Counter[tuple[str, str]]) -> PersonPair:
    cells = tuple((table[row, "good"], table[row, "bad"]) for row in ("good", "bad"))
    clear = sum(map(sum, cells))
    return PersonPair(first, second, (cells[0], cells[1]), table.total() - clear)
