"""Judges held against people, rule by rule: the calibrations that a spec keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from pydantic import ValidationError

from promptpex.alignment.alignment_measures import Observation, figures_of
from promptpex.alignment.graded_outputs import each_text_once
from promptpex.core.records import CardFigure, Example, JudgeCalibration, MeasuredShare, Rule
from promptpex.grading.book import GradeBook

DIGITS = 4
"""After the point, of every share in a spec."""


@dataclass(frozen=True, slots=True)
class JudgeOnRule:
    """What a judge says of the outputs of runs by one rule.

    Attributes:
        rule: as the judge was shown it.
        judge: its label.
        fingerprint: as its verdicts carry it.
        items: the outputs that stand for all; none that the judge may have been shown with its grade.
        fails: by the id of an item, whether the judge fails it; those that it says nothing of are not there.
    """

    rule: Rule
    judge: str
    fingerprint: str
    items: Sequence[Example]
    fails: Mapping[str, bool]


def calibration(judged: JudgeOnRule, book: GradeBook, day: date) -> JudgeCalibration | None:
    """How far the judge agrees with people on the random sample of the items; None where they share no output, or where
    its verdicts, in a run from elsewhere, do not tell which judge it was.

    Sensitivity and specificity are coverage and 1 - FFR of the judge's verdicts, with their intervals by case
    (``figures_of``). Where the output alone decides the rule, each text counts once.
    """
    sample = book.random_sample(judged.rule.id, judged.items)
    observations = [
        Observation(label == "bad", judged.fails[item.id], item.cluster)
        for item in (each_text_once(sample) if judged.rule.needs == "output" else sample)
        if item.id in judged.fails and (label := book.joint(item, judged.rule.id).label) is not None
    ]
    if not observations:
        return None
    figures = figures_of(observations)
    with suppress(ValidationError):
        return JudgeCalibration(
            judge=judged.judge,
            fingerprint=judged.fingerprint,
            rule_digest=judged.rule.digest,
            date=day.isoformat(),
            outputs=len(observations),
            bad=figures.counts.bad,
            good=figures.counts.good,
            sensitivity=_share(figures.coverage),
            specificity=_rest(_share(figures.ffr)),
            kappa=_share(figures.kappa),
            graders=book.rules.graders,
            unsure=book.rules.unsure,
        )
    return None


def with_calibrations(rule: Rule, new: Iterable[JudgeCalibration]) -> Rule:
    """The rule with these calibrations in place of earlier ones of the same judges; one that says the same stays."""
    by_judge = {one.judge: one for one in rule.judge}
    for one in new:
        before = by_judge.get(one.judge)
        by_judge[one.judge] = before if before is not None and before.replace(date=one.date) == one else one
    return rule.replace(judge=tuple(by_judge.values())) if tuple(by_judge.values()) != rule.judge else rule


def by_other_labels(rule: Rule, new: Iterable[JudgeCalibration]) -> list[JudgeCalibration]:
    """The calibrations of a rule that these take the place of and that were measured by other labels."""
    options = {one.judge: one.label_options for one in new}
    return [one for one in rule.judge if options.get(one.judge, one.label_options) != one.label_options]


def _share(figure: CardFigure) -> MeasuredShare:
    estimate = None if figure.estimate is None else round(figure.estimate, DIGITS)
    return MeasuredShare(estimate=estimate, low=round(figure.low, DIGITS), high=round(figure.high, DIGITS))


def _rest(share: MeasuredShare) -> MeasuredShare:
    """What is left of a share to 1."""
    low, high = round(1.0 - share.high, DIGITS), round(1.0 - share.low, DIGITS)
    return MeasuredShare(
        estimate=None if share.estimate is None else round(1.0 - share.estimate, DIGITS), low=low, high=high
    )
