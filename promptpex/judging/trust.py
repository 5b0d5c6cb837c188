"""Which judges may decide which rules: those that people's grades have shown to agree with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from promptpex.core.records import UNTRUSTED, Rule, Spec, Verdict, calibration_of
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
        """The ids of the rules that the judge may not decide."""
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
