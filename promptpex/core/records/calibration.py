"""How far a judge may be trusted on a rule, as people's grades have shown it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from promptpex.core.records._base import Record
from promptpex.core.records.grade import Digest, Name

CalibrationState = Literal["current", "reworded", "another judge", "never"]
"""Whether a calibration holds: for the words of the rule as they are, and for the judge as it is; or there is none."""

GradedOutputs = Annotated[int, Field(ge=0, le=10_000_000)]
"""How many outputs: more than people ever grade."""

MAJORITY = "majority"
"""How grades become labels where nothing else is said."""

GradersRule = Annotated[str, Field(min_length=1, max_length=300)]
"""Whose grades count, as ``--graders`` takes it."""


class MeasuredShare(Record):
    """A share or a kappa with its interval.

    Attributes:
        estimate: None where it is not defined, such as the sensitivity where people found nothing bad.
        low, high: the interval's ends.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    estimate: float | None = Field(default=None, ge=-1, le=1)
    low: float = Field(ge=-1, le=1)
    high: float = Field(ge=-1, le=1)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        middle = self.low if self.estimate is None else self.estimate
        if not self.low <= middle <= self.high:
            raise ValueError("low, estimate and high are not in this order")
        return self


class JudgeCalibration(Record):
    """A judge held against people on one rule, on outputs that were drawn at random.

    It holds for the judge whose verdicts have this ``fingerprint``, and for the words of the rule with this digest;
    else it is stale.

    Attributes:
        judge: the judge's label.
        fingerprint: as its verdicts carry it.
        rule_digest: ``Rule.digest``.
        date: the day on which it was measured: ``2026-03-01``.
        outputs: of which both people and the judge said good or bad.
        bad, good: those of them that people found bad, and good.
        sensitivity: share of what people found bad that the judge fails.
        specificity: share of what people found good that the judge passes.
        kappa: Cohen's, between judge and people.
        graders: how several people's grades became labels, as ``LabelRules`` has it.
        unsure: what "unsure" was.
    """

    judge: Name
    fingerprint: Digest
    rule_digest: Digest
    date: str
    outputs: GradedOutputs
    bad: GradedOutputs
    good: GradedOutputs
    sensitivity: MeasuredShare
    specificity: MeasuredShare
    kappa: MeasuredShare
    graders: GradersRule = MAJORITY
    unsure: Literal["no-vote", "bad"] = "no-vote"

    @property
    def label_options(self) -> str:
        """The options that give the labels that it was measured by: ``--graders ada``; empty for those by default."""
        graders = [] if self.graders == MAJORITY else [f"--graders {self.graders}"]
        return " ".join([*graders, *(["--unsure-is-bad"] if self.unsure == "bad" else [])])

    @field_validator("date")
    @classmethod
    def _is_day(cls, value: str) -> str:
        try:
            date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value[:40]!r} is not a day such as 2026-03-01") from None
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.bad + self.good != self.outputs:
            raise ValueError(f"bad and good are {self.bad} + {self.good}, but outputs are {self.outputs}")
        for name in ("sensitivity", "specificity"):
            if getattr(self, name).low < 0:
                raise ValueError(f"{name} is a share, from 0 to 1")
        return self

    def state(self, fingerprint: str, rule_digest: str) -> CalibrationState:
        """Whether it holds for the judge whose verdicts have this fingerprint and for the rule with this digest."""
        if self.rule_digest != rule_digest:
            return "reworded"
        return "current" if self.fingerprint == fingerprint else "another judge"


def calibration_of(
    known: Iterable[JudgeCalibration], judge: str, fingerprint: str, rule_digest: str
) -> tuple[CalibrationState, JudgeCalibration | None]:
    """What is known of a judge on a rule: the calibration that holds, else a stale one, else none.

    A judge that was given another name since is known by its fingerprint, which does not depend on the name.
    """
    stale: tuple[CalibrationState, JudgeCalibration | None] = ("never", None)
    for one in known:
        state = one.state(fingerprint, rule_digest)
        if state == "current":
            return state, one
        if one.judge == judge:
            stale = (state, one)
    return stale
