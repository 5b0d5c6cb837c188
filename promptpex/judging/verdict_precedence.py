"""Which verdict counts: code first, judges for the rest, of them those that people's grades have shown to agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from promptpex.core.outcomes import not_asked
from promptpex.core.records import (
    NOT_ASKED,
    NOT_CONCERNED,
    UNTRUSTED,
    Output,
    Rule,
    Spec,
    Status,
    Verdict,
    calibration_of,
)
from promptpex.core.translation import stored


@dataclass(frozen=True)
class Trust:
    """How far judges must agree with people before their verdicts count.

    Attributes:
        spec: its rules say how far each judge does.
        min_agreement: what kappa has to be known to reach; None: every judge counts.
    """

    spec: Spec
    min_agreement: float | None
    _known: dict[tuple[str, str, str], bool] = field(default_factory=dict, repr=False, compare=False)

    def holds(self, verdict: Verdict) -> bool:
        """Whether the judge of this verdict may decide its rule."""
        if self.min_agreement is None:
            return True
        key = (verdict.rule, verdict.source, verdict.fingerprint)
        if key not in self._known:
            rule = self._rules.get(verdict.rule)
            judge = verdict.source.removeprefix("judge:")
            self._known[key] = rule is not None and self.in_rule(rule, judge, verdict.fingerprint)
        return self._known[key]

    def in_rule(self, rule: Rule, judge: str, fingerprint: str) -> bool:
        """Whether the judge with this fingerprint may decide the rule: its calibration is current, and the lower end of
        the interval of its kappa is high enough."""
        state, one = calibration_of(rule.judge, judge, fingerprint, rule.digest)
        if self.min_agreement is None or state != "current" or one is None or one.kappa.estimate is None:
            return self.min_agreement is None
        return one.kappa.low >= self.min_agreement

    def untrusted(self, rules: Iterable[Rule], judge: str, fingerprint: str) -> list[str]:
        return [rule.id for rule in rules if not self.in_rule(rule, judge, fingerprint)]

    def by_other_labels(self, rules: Iterable[Rule], judge: str, fingerprint: str) -> dict[str, list[str]]:
        """The rules that the judge may decide by labels that are not made in the usual way: their ids by the options
        that make these labels."""
        ids: dict[str, list[str]] = {}
        for rule in rules:
            _, one = calibration_of(rule.judge, judge, fingerprint, rule.digest)
            if one is not None and one.label_options and self.in_rule(rule, judge, fingerprint):
                ids.setdefault(one.label_options, []).append(rule.id)
        return ids

    def unscored(self, verdict: Verdict) -> Verdict:
        """What stands in the place of a verdict whose judge may not decide its rule."""
        reason = stored(
            "no judge is known to agree with people on this rule with a kappa of {limit} or more",
            limit=f"{self.min_agreement:g}",
        )
        return verdict.replace(
            status="unscored",
            unscored=UNTRUSTED,
            reason=reason,
            source="none",
            fingerprint="",
            confidence=None,
            counts=True,
        )

    @cached_property
    def _rules(self) -> Mapping[str, Rule]:
        return {rule.id: rule for rule in self.spec.rules}


Quorum = Literal["majority", "unanimous"]


def unscored_verdicts(output: Output, rules: Iterable[str]) -> list[Verdict]:
    return [
        _verdict(output, rule, output.error or "error", output.message or "", source="none", counts=True)
        for rule in rules
    ]


def unjudged(output: Output, rules: Iterable[Rule], settled: Collection[str] = ()) -> list[Verdict]:
    """Unscored verdicts for rules that need a judge in a run that has none; shown, and never counted."""
    reason = stored("no check covers this rule and the run has no judge")
    return [
        _verdict(output, rule.id, "no-judge", reason, source="none", counts=False)
        for rule in rules
        if not rule.checks and rule.id not in settled
    ]


def left_open(checked: Iterable[Verdict], rules: Iterable[Rule], asked: Collection[str]) -> list[Verdict]:
    """The verdicts of code, as they stand where no judge completes them.

    Checks that decide a rule in part prove that it is broken, and never that it is kept: their pass is unscored,
    ``no-judge``, and counts. Their fail stays a fail.

    Args:
        checked: the verdicts of code.
        rules: tells which rules code decides in part.
        asked: the rules that a judge is asked about; theirs stay as they are.
    """
    open_ = {rule.id for rule in rules if rule.checks and rule.needs_judge and rule.id not in asked}
    reason = stored("its checks pass, but decide this rule only in part, and no judge was asked about it")
    return [
        verdict.replace(status="unscored", unscored="no-judge", reason=reason)
        if verdict.rule in open_ and verdict.status == "pass"
        else verdict
        for verdict in checked
    ]


def closed_by_code(rules: Iterable[Rule], checked: Sequence[Verdict]) -> list[Verdict]:
    """Unscored verdicts on the rules that come ``after`` one which the output breaks as code says: whatever a judge
    said of them would not count, so none has to be asked.
    """
    after = {rule.id: rule.after for rule in rules if rule.after}
    return [
        _closed(verdict.replace(rule=rule), cause)
        for verdict, cause_of in _first_failures(after, checked)
        for rule, cause in cause_of.items()
        if cause is not None
    ]


def _first_failures(
    after: Mapping[str, str], verdicts: Iterable[Verdict]
) -> list[tuple[Verdict, dict[str, str | None]]]:
    """For each output that breaks a rule, by a verdict that counts, the first such verdict and the causes of all rules
    that come after another."""
    failures: dict[tuple[str, str, int], dict[str, Verdict]] = defaultdict(dict)
    for verdict in verdicts if after else ():
        if verdict.counts and verdict.status == "fail":
            failures[verdict.key].setdefault(verdict.rule, verdict)
    return [(next(iter(broken.values())), causes(after, broken)) for broken in failures.values()]


def after_broken(rules: Iterable[Rule], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts, with those on rules unscored that come ``after`` a rule which the output breaks: one cause is one
    failure.

    What a check says of such a rule goes, since it could not look; what a judge says is kept and does not count. A rule
    that does not concern the output stays so. So does one that a judge was no longer asked about: its output does not
    count, whether it breaks the other rule or not.
    """
    after = {rule.id: rule.after for rule in rules if rule.after}
    if not after:
        return list(verdicts)
    unasked = {(verdict.key, verdict.rule) for verdict in not_asked(verdicts)}
    cause_of = {failure.key: closed for failure, closed in _first_failures(after, verdicts)}
    verdicts_kept: list[Verdict] = []
    closed: set[tuple[tuple[str, str, int], str]] = set()
    for verdict in verdicts:
        stays = verdict.status == NOT_CONCERNED or (verdict.key, verdict.rule) in unasked
        cause = None if stays else cause_of.get(verdict.key, {}).get(verdict.rule)
        if cause is None:
            verdicts_kept.append(verdict)
            continue
        if verdict.counts and (verdict.key, verdict.rule) not in closed:
            closed.add((verdict.key, verdict.rule))
            verdicts_kept.append(_closed(verdict, cause))
        if verdict.source.startswith("judge:"):
            verdicts_kept.append(verdict.replace(counts=False))
    return verdicts_kept


def causes(after: Mapping[str, str], broken: Collection[str]) -> dict[str, str | None]:
    """For each rule that comes after another the broken one that it comes after, directly or not; of several that from
    which all begins. In time linear in the number of rules."""
    first: dict[str, str | None] = {}
    for start in after if broken else ():
        path: list[str] = []
        rule: str | None = start
        while rule is not None and rule not in first:
            first[rule] = None
            path.append(rule)
            rule = after.get(rule)
        for below in reversed(path):
            before = after.get(below)
            cause = first.get(before or "") or (before if before in broken else None)
            first[below] = cause if cause != below else None
    return first


def _closed(verdict: Verdict, cause: str) -> Verdict:
    return verdict.replace(
        status="unscored",
        unscored="after",
        reason=stored("{rule} is broken, and this rule can only be looked at where that one is kept", rule=cause),
        source="none",
        fingerprint="",
        confidence=None,
    )


def weigh(
    spec: Spec,
    checked: Iterable[Verdict],
    judged: Sequence[Sequence[Verdict]],
    *,
    quorum: Quorum = "majority",
    min_agreement: float | None = None,
) -> list[Verdict]:
    """All verdicts, each with ``counts`` as it should be, and one verdict for several judges.

    Args:
        spec: tells which rules code decides wholly, and how far judges agree with people.
        checked: the verdicts of code; they count.
        judged: per judge, its verdicts. A lone judge counts where code does not decide wholly; of several judges none
            counts alone, their majority or unanimity does.
        min_agreement: a judge takes part in a rule only where its kappa with people is known to be no less; where no
            judge takes part the rule is unscored.
    """
    return Weights(spec, quorum=quorum, min_agreement=min_agreement).weigh(checked, judged)


class Weights:
    """What decides which verdicts count, for as many outputs as there are; the arguments are those of ``weigh``."""

    def __init__(self, spec: Spec, *, quorum: Quorum = "majority", min_agreement: float | None = None) -> None:
        self._wholly = {rule.id for rule in spec.rules if not rule.needs_judge}
        self._trust = Trust(spec, min_agreement)
        self._quorum: Quorum = quorum

    def weigh(self, checked: Iterable[Verdict], judged: Sequence[Sequence[Verdict]]) -> list[Verdict]:
        """See ``weigh``."""
        verdicts = list(checked)
        if len(judged) == 1:
            return verdicts + [weighed for verdict in judged[0] for weighed in self._of_one(verdict)]
        verdicts_by_subject: dict[tuple[tuple[str, str, int], str], list[Verdict]] = defaultdict(list)
        for verdict in (verdict for judge in judged for verdict in judge):
            verdicts.append(verdict.replace(counts=False))
            if verdict.turn == 0:
                verdicts_by_subject[verdict.key, verdict.rule].append(verdict)
        return verdicts + [
            _jointly(group, self._quorum, self._trust).replace(counts=rule not in self._wholly)
            for (_, rule), group in verdicts_by_subject.items()
        ]

    def _of_one(self, verdict: Verdict) -> list[Verdict]:
        """The verdict of a lone judge, and what stands in its place where it may not decide its rule."""
        decides = not verdict.turn and verdict.rule not in self._wholly
        trusted = verdict.status == "unscored" or self._trust.holds(verdict)
        weighed = verdict.replace(counts=decides and trusted)
        return [weighed, self._trust.unscored(verdict)] if decides and not trusted else [weighed]


def _jointly(group: Sequence[Verdict], quorum: Quorum, trust: Trust) -> Verdict:
    trusted = [verdict for verdict in group if trust.holds(verdict)]
    if trusted or any(verdict.unscored in NOT_ASKED for verdict in group):
        return agreed(trusted or group, quorum)
    return trust.unscored(group[0])


def agreed(group: Sequence[Verdict], quorum: Quorum) -> Verdict:
    """The joint verdict of several judges on one rule of one output.

    First whether the rule is broken; who finds that it does not concern the output votes that it is not. Majority:
    more than half of the group, those who gave no verdict included, else unscored. Unanimous: not broken only if every
    judge says so; one fail among scored verdicts is a fail; one unscored without a fail leaves it unscored. What is not
    broken does not concern the output if more say so than pass it, else it passes. Where a judge was no longer asked,
    that is the reason: it says nothing about the judges.
    """
    failed, passed, left_out = (
        sum(verdict.status == status for verdict in group) for status in ("fail", "pass", NOT_CONCERNED)
    )
    unbroken = passed + left_out
    status: Status = NOT_CONCERNED if left_out > passed else "pass"
    if quorum == "unanimous":
        status = "fail" if failed else status if unbroken == len(group) else "unscored"
    elif 2 * max(failed, unbroken) <= len(group):
        status = "unscored"
    elif failed > unbroken:
        status = "fail"
    votes = stored("{passed} of {count} judges pass it, {failed} fail it")
    if left_out:
        votes = stored(
            "{passed} of {count} judges pass it, {failed} fail it, {left_out} find that it does not concern the output"
        )
    return group[0].replace(
        status=status,
        reason=votes.format(passed=passed, count=len(group), failed=failed, left_out=left_out),
        unscored=_left_open(group) if status == "unscored" else None,
        source=f"judges:{quorum}",
        confidence=None,
    )


def _left_open(group: Sequence[Verdict]) -> str | None:
    codes = [verdict.unscored for verdict in group if verdict.unscored]
    cut = next((code for code in codes if code in NOT_ASKED), None)
    return cut or (codes[0] if codes else "judges-tied")


def _verdict(output: Output, rule: str, code: str, reason: str, *, source: str, counts: bool) -> Verdict:
    return Verdict.of(output.key, rule, "unscored", source, reason=reason, unscored=code, counts=counts)
