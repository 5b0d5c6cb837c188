"""What more grades would bring: how many until a judge's error on a rule is known well enough.

The judge's error on a rule is the share of the random sample on which judge and people say opposite things. Its
interval is exact (Clopper and Pearson 1934). The forecast supposes that the error stays near what was seen, drawn a
little towards a half, since after no error of five the next five need not be without one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from promptpex.core.records import OUTPUT_SUBJECT, Example
from promptpex.core.translation import tr, tr_n
from promptpex.grading.book import GradeBook
from promptpex.grading.machine_opinions import Judgements
from promptpex.grading.random_sample import RANDOM_SHARE, SEED
from promptpex.grading.subjects import Subject
from promptpex.stats.argument_checks import require_counts
from promptpex.stats.intervals import exact_bounds

STEPS = (0.30, 0.20, 0.15, 0.10, 0.05, 0.03)
"""How well an error may be known: half of the width of its 95% interval. The forecast is for the next step."""
_WORTH_SAYING = 0.9
"""A step that is nearer than a tenth of what is known now is left out."""
_MOST = 10_000
"""Grades that a forecast looks ahead; nobody gives more."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What more grades would bring for one judge and one subject.

    Attributes:
        subject: the rule's or criterion's id.
        judge: its label.
        within: the next step: half of the width of the interval, as a share.
        sampled: how many more outputs of the random sample that takes; 0 where they are already there.
        grades: how many more grades that is, since only every third output is of the random sample.
        whole: whether the outputs do not suffice: with all of them graded the error on them is known exactly.
        asked: whether people are asked about the subject; if not, a bad grade on the whole output says nothing of it.
    """

    subject: str
    judge: str
    within: float
    sampled: int
    grades: int
    whole: bool = False
    asked: bool = True

    def sentence(self) -> str:
        """In words, to be shown while people grade."""
        subject = tr("whole outputs") if self.subject == OUTPUT_SUBJECT else self.subject
        error = tr("{judge}'s error on {subject}", judge=self.judge, subject=subject)
        error = error if self.judge else tr("the judge's error on {subject}", subject=subject)
        known_to = tr("{error} is known to within {points}", error=error, points=_points(self.within))
        if not self.grades:
            return known_to
        known_to = tr("{error} is known exactly for these outputs", error=error) if self.whole else known_to
        sentence = tr("{count} more and {known}", count=self.grades, known=known_to)
        if self.asked:
            return sentence
        return tr("{sentence}, if bad outputs are also graded on {subject}", sentence=sentence, subject=self.subject)


def forecasts(
    book: GradeBook,
    items: Sequence[Example],
    judgements: Judgements,
    subjects: Iterable[Subject],
    *,
    share: float = RANDOM_SHARE,
    seed: int = SEED,
    asked: Collection[str] | None = None,
) -> tuple[Forecast, ...]:
    """For each subject of which judges say something, and for each judge, what more grades would bring.

    Args:
        book: what people have said so far.
        items: the pool.
        judgements: what judges say of the items.
        subjects: in the order that the forecasts are wanted in.
        share: how many of the grades to come are of the random sample.
        seed: of the permanent random numbers.
        asked: the ids of the subjects that people are asked about; None: all.
    """
    result = []
    graded_items = book.having_grades(items)
    for subject in subjects:
        judges = sorted(judge for name, judge in judgements if name == subject.id)
        sample = book.random_sample(subject.id, items, seed) if judges else ()
        labels = {one.id: label for one in sample if (label := book.joint(one, subject.id).label) is not None}
        left = len(items) - sum(book.joint(item, subject.id).graded for item in graded_items)
        for judge in judges:
            says = judgements[subject.id, judge]
            wrong = [(says[key] == "pass") != (label == "good") for key, label in labels.items() if key in says]
            subject_forecast = forecast(subject.id, sum(wrong), len(wrong), left, judge=judge, share=share)
            result.append(replace(subject_forecast, asked=asked is None or subject.id in asked))
    return tuple(result)


def half_width(errors: float, n: int, confidence: float = 0.95) -> float:
    """Half of the width of the exact interval of an error seen ``errors`` times in ``n``; a half where n is 0."""
    if n == 0:
        return 0.5
    low, high = exact_bounds(errors / n, n, confidence)
    return (high - low) / 2.0


def forecast(
    subject: str,
    errors: int,
    n: int,
    left: int,
    *,
    judge: str = "",
    share: float = RANDOM_SHARE,
    confidence: float = 0.95,
) -> Forecast:
    """How many more grades it takes until the judge's error on a subject is known to within the next step.

    Args:
        subject: its id.
        errors: outputs of the random sample on which judge and people say opposite things.
        n: outputs of the random sample on which both say something.
        left: outputs that are not graded on the subject yet.
        judge: its label; empty where there is one alone.
        share: how many of the grades to come are of the random sample; 1 where all are chosen at random.
        confidence: of the interval.

    Raises:
        InputError: for counts that cannot be.
    """
    require_counts(errors, n)
    now = half_width(errors, n, confidence)
    within = next((step for step in STEPS if step < _WORTH_SAYING * now), STEPS[-1])
    sampled = more_needed(errors, n, within, confidence=confidence)
    grades = math.ceil(sampled / share)
    if grades >= left > 0 and sampled:
        return Forecast(subject, judge, 0.0, left, left, whole=True)
    return Forecast(subject, judge, within, sampled, grades)


def more_needed(errors: int, n: int, within: float, *, confidence: float = 0.95) -> int:
    """How many more outputs of the random sample the interval needs to be as narrow as ``within`` to either side."""
    if n and half_width(errors, n, confidence) <= within:
        return 0
    rate = (errors + 0.5) / (n + 1)
    low, high = 1, _MOST
    while low < high:
        more = (low + high) // 2
        if half_width(errors + rate * more, n + more, confidence) <= within:
            high = more
        else:
            low = more + 1
    return low


def _points(share: float) -> str:
    return tr_n("{count} point", "{count} points", round(share * 100))
