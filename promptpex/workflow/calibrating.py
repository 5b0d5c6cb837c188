"""Judges held against people, rule by rule: the calibrations that a spec keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from pydantic import ValidationError

from promptpex.alignment.graded_outputs import each_text_once
from promptpex.alignment.measures import Observation, figures_of
from promptpex.core.records import CardFigure, Example, JudgeCalibration, MeasuredShare, Rule, Run, Verdict
from promptpex.core.translation import tr, tr_n
from promptpex.grading.book import GradeBook
from promptpex.promptfile import sibling
from promptpex.report.percentages import listed
from promptpex.specs.file import write_spec
from promptpex.synthesis.examples import examples_of
from promptpex.workflow.grading_desk import GradingProject

DIGITS = 4
"""After the point, of every share in a spec."""


@dataclass(frozen=True, slots=True)
class JudgeOnRule:
    """What a judge says of the outputs of runs by one rule."""

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
    low, high = round(1.0 - share.high, DIGITS), round(1.0 - share.low, DIGITS)
    return MeasuredShare(
        estimate=None if share.estimate is None else round(1.0 - share.estimate, DIGITS), low=low, high=high
    )


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The judges of some runs, tried.

    Attributes:
        spec: the spec's file; None where there is none to write to.
        calibrations: by rule, those that could be measured.
        untried: rules that a judge gave verdicts on and that share no graded output with it; by rule, how many outputs
            of the random sample are still to be graded on it where some are.
        stale: rules with a calibration, of another judge, that was measured on other words.
        changed: whether the spec's file was written.
        replaced: by rule, the calibrations by labels made otherwise whose place was taken.
    """

    spec: Path | None
    calibrations: dict[str, tuple[JudgeCalibration, ...]]
    untried: Mapping[str, int]
    stale: tuple[str, ...]
    changed: bool
    replaced: Mapping[str, Sequence[JudgeCalibration]] = field(default_factory=dict)

    def sentence(self) -> str:
        """What was measured and where it stands."""
        if not self.calibrations and not self.untried:
            return tr("No judge gave a verdict on a rule of the current spec, so none was compared with people.")
        parts = []
        if self.calibrations and self.spec is not None:
            where = {"file": self.spec.name, "rules": tr_n("{count} rule", "{count} rules", len(self.calibrations))}
            already = tr("{file} already says how far the judges agree with people on {rules}.", **where)
            now = tr("{file} now says how far the judges agree with people on {rules}.", **where)
            parts.append(now if self.changed else already)
        elif self.calibrations:
            parts.append(tr("The prompt has no spec file in which to keep its judges' calibrations."))
        if self.changed and self.replaced:
            parts.append(self._replaced())
        parts += self._untried()
        if self.stale:
            stale = tr(
                "Calibrations of other judges on {rules} are stale: the rule was reworded.", rules=listed(self.stale)
            )
            parts.append(stale)
        return " ".join(parts)

    def _untried(self) -> Iterator[str]:
        """Which rules were not tried, and what to grade so that they can be."""
        none = [rule for rule, missing in self.untried.items() if not missing]
        if none:
            yield tr_n(
                "{rules} was not calibrated: no output of the random sample is graded on it ({command}).",
                "{rules} were not calibrated: no output of the random sample is graded on them ({command}).",
                len(none),
                rules=listed(none),
                command=f"promptpex grade {f'--on {none[0]}' if len(none) == 1 else '--rules'}",
            )
        for rule, missing in self.untried.items():
            if missing:
                yield tr_n(
                    "{rule} was not calibrated: {count} output of the random sample is still to be graded on it "
                    "({command}).",
                    "{rule} was not calibrated: {count} outputs of the random sample are still to be graded on it "
                    "({command}).",
                    missing,
                    rule=rule,
                    command=f"promptpex grade --on {rule}",
                )

    def _replaced(self) -> str:
        """Which calibrations gave way, by whose labels they were, and by whose labels the new ones are."""
        replaced_ones = [one for each in self.replaced.values() for one in each]
        before = listed(list(dict.fromkeys(_by(one) for one in replaced_ones)))
        after = listed(list(dict.fromkeys(_by(one) for name in self.replaced for one in self.calibrations[name])))
        return tr_n(
            "This replaces a calibration on {rules} whose labels were made differently ({before}; now {after}).",
            "This replaces calibrations on {rules} whose labels were made differently ({before}; now {after}).",
            len(replaced_ones),
            rules=listed(list(self.replaced)),
            before=before,
            after=after,
        )


def _by(one: JudgeCalibration) -> str:
    return one.label_options or tr("the majority of the graders")


def calibrate(project: GradingProject, day: date) -> Calibrated:
    """Holds the judges of a project's runs against people, and writes what comes of it into the prompt's spec.

    Calibrations of judges that gave no verdict in these runs stay as they are, and so does all that people wrote.
    """
    book = project.desk.book
    measured: dict[str, dict[str, JudgeCalibration]] = {}
    tried: dict[str, int] = {}
    for judged in _judged(project.spec.rules, project.runs):
        tried[judged.rule.id] = book.open_in_sample(judged.rule.id, judged.items)
        one = calibration(judged, book, day)
        if one is not None:
            measured.setdefault(judged.rule.id, {})[judged.judge] = one
    calibrations = {rule: tuple(each.values()) for rule, each in measured.items()}
    rules = tuple(with_calibrations(rule, calibrations.get(rule.id, ())) for rule in project.spec.rules)
    file = sibling(project.file, "spec")
    changed = file.exists() and rules != project.spec.rules
    if changed:
        write_spec(file, project.spec.replace(rules=rules))
    untried = {rule: missing for rule, missing in tried.items() if rule not in calibrations}
    stale = tuple(rule.id for rule in rules if any(one.rule_digest != rule.digest for one in rule.judge))
    replaced = {
        rule.id: others
        for rule in project.spec.rules
        if (others := by_other_labels(rule, calibrations.get(rule.id, ())))
    }
    return Calibrated(file if file.exists() else None, calibrations, untried, stale, changed, replaced)


@dataclass(slots=True)
class _OfJudge:
    """What a judge says by one rule: of the items whose verdicts carry its fingerprint, which it fails."""

    fingerprint: str
    items: dict[str, Example] = field(default_factory=dict)
    fails: dict[str, bool] = field(default_factory=dict)

    def take(self, verdict: Verdict, item: Example) -> None:
        if verdict.fingerprint != self.fingerprint:
            return
        self.items[item.id] = item
        if verdict.status in ("pass", "fail"):
            self.fails.setdefault(item.id, verdict.status == "fail")


def _judged(rules: Sequence[Rule], runs: Sequence[Run]) -> Iterator[JudgeOnRule]:
    """What each judge says by each rule: of several runs those that have the judge as it is in the first one.

    Verdicts by a rule that reads otherwise now say nothing of it.
    """
    now = {rule.id: rule for rule in rules}
    judged: dict[tuple[str, str], _OfJudge] = {}
    for run in runs:
        items = {item.id: item for item in examples_of(run).examples}
        same = {rule.id for rule in run.spec.rules if rule.id in now and rule.digest == now[rule.id].digest}
        for verdict in run.verdicts:
            if verdict.source.startswith("judge:") and not verdict.turn and verdict.rule in same:
                judge = verdict.source.removeprefix("judge:")
                of_judge = judged.setdefault((verdict.rule, judge), _OfJudge(verdict.fingerprint))
                item = items.get(run.item_ids.get(verdict.key, ""))
                if item is not None and not run.manifest.may_have_shown(item, now[verdict.rule].needs):
                    of_judge.take(verdict, item)
    for (rule, judge), each in judged.items():
        yield JudgeOnRule(now[rule], judge, each.fingerprint, tuple(each.items.values()), each.fails)
