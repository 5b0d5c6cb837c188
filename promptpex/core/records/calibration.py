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

CALIBRATION_EXAMPLE: dict[str, object] = {
    "judge": "gpt-4o",
    "fingerprint": "0f4c3a9b12de",
    "rule_digest": "8a1b2c3d4e5f",
    "date": "2026-03-01",
    "outputs": 60,
    "bad": 20,
    "good": 40,
    "sensitivity": {"estimate": 0.9, "low": 0.7, "high": 0.98},
    "specificity": {"estimate": 0.95, "low": 0.84, "high": 0.99},
    "kappa": {"estimate": 0.85, "low": 0.7, "high": 0.95},
}
"""What one looks like in a spec."""

MAJORITY = "majority"
"""How grades become labels where nothing else is said."""

GradersRule = Annotated[str, Field(min_length=1, max_length=300)]
"""Whose grades count, as ``--graders`` takes it."""


class MeasuredShare(Record):
    """A share or a kappa with its interval."""

    model_config = ConfigDict(allow_inf_nan=False)

    estimate: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="The figure; none where it is not defined, such as the sensitivity where people found nothing bad.",
        examples=[0.9],
    )
    low: float = Field(ge=-1, le=1, description="The lower end of its interval.", examples=[0.8])
    high: float = Field(ge=-1, le=1, description="The upper end of its interval.", examples=[0.96])

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
    """

    judge: Name = Field(description="What the judge is called.", examples=["gpt-4o"])
    fingerprint: Digest = Field(
        description="The hash of the judge, as its verdicts carry it.", examples=["0f4c3a9b12de"]
    )
    rule_digest: Digest = Field(description="The hash of the rule's words.", examples=["8a1b2c3d4e5f"])
    date: str = Field(description="The day on which it was measured.", examples=["2026-03-01"])
    outputs: GradedOutputs = Field(
        description="Outputs of which both people and judge said good or bad.", examples=[60]
    )
    bad: GradedOutputs = Field(description="Those of them that people found bad.", examples=[20])
    good: GradedOutputs = Field(description="Those of them that people found good.", examples=[40])
    sensitivity: MeasuredShare = Field(
        description="The share of what people found bad that the judge fails.",
        examples=[{"estimate": 0.9, "low": 0.7, "high": 0.98}],
    )
    specificity: MeasuredShare = Field(
        description="The share of what people found good that the judge passes.",
        examples=[{"estimate": 0.95, "low": 0.84, "high": 0.99}],
    )
    kappa: MeasuredShare = Field(
        description="Cohen's kappa between judge and people.", examples=[{"estimate": 0.85, "low": 0.7, "high": 0.95}]
    )
    graders: GradersRule = Field(
        default=MAJORITY, description="Whose grades counted, as --graders takes it.", examples=["majority", "ada"]
    )
    unsure: Literal["no-vote", "bad"] = Field(
        default="no-vote", description="What the grade unsure counted as.", examples=["bad"]
    )

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
