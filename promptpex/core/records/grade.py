"""Grades: what people say of outputs; and how far a judge may be trusted on a rule, as they have shown it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from promptpex.core.ids import digest, text_digest
from promptpex.core.records._base import Ordinal, Record

GradeValue = Literal["good", "bad", "unsure"]

OUTPUT_SUBJECT = "output"
"""The subject of a grade on the output as a whole."""

KEY_LENGTH = 32
"""Hex digits of an output's key: 128 bits, so that two outputs of all projects never share one by chance."""

LONGEST_NAME = 200
"""Characters of a grader, a case, a model or a subject."""
LONGEST_NOTE = 20_000
"""Characters of a note: some ten pages."""

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
_HEX = re.compile("[0-9a-f]{8,64}")


def _checked_digest(value: str) -> str:
    if not _HEX.fullmatch(value):
        raise ValueError(f"{value[:LONGEST_NAME]!r} is not a digest: 8 to 64 of the digits 0-9 and a-f")
    return value


Digest = Annotated[str, AfterValidator(_checked_digest)]


class Grade(Record):
    """A person's verdict on an output, or on one rule or criterion of it.

    The output is known by ``key``, so a grade holds for every run that gives the same text to the same inputs; case,
    model and repeat say where the person met it. The digests tell later whether what was graded still reads the same.

    Attributes:
        id: the digest of everything else, so that two files can be merged without renaming anything.
        time: when it was given: ISO 8601 with an offset, such as ``2026-03-01T09:30:00+00:00``.
        grader: the person's name or initials.
        key: ``output_key`` of the inputs and the output's text.
        output_digest: ``text_digest`` of the output's text alone.
        case, model, repeat: as in ``Output``.
        subject: ``output``, or the id of a rule or criterion.
        subject_digest: ``text_digest`` of the rule's or criterion's text at that time; None for the whole output.
        value: the verdict.
        note: the person's words.
        policy: how the output was chosen for grading, such as ``random``; empty where the person picked it.
        probability: with which probability the policy chose it, above 0 to 1; None where it is not known.
        replaces: the id of the grade that this one corrects, or takes back.
        withdrawn: whether it takes back the grade that it replaces, and says nothing itself.
    """

    id: Digest
    time: str = Field(max_length=40)
    grader: Name
    key: Digest
    output_digest: Digest
    case: Name
    model: Name
    repeat: Ordinal = 0
    subject: Name = OUTPUT_SUBJECT
    subject_digest: Digest | None = None
    value: GradeValue
    note: str = Field(default="", max_length=LONGEST_NOTE)
    policy: str = Field(default="", max_length=LONGEST_NAME)
    probability: float | None = Field(default=None, gt=0, le=1)
    replaces: Digest | None = None
    withdrawn: bool = False

    @field_validator("time")
    @classmethod
    def _has_offset(cls, value: str) -> str:
        try:
            offset = datetime.fromisoformat(value).tzinfo
        except ValueError:
            offset = None
        if offset is None:
            raise ValueError(f"{value!r} is not a time with an offset, such as 2026-03-01T09:30:00+00:00")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.subject != OUTPUT_SUBJECT and self.subject_digest is None:
            raise ValueError("a grade on a rule or criterion needs 'subject_digest', the digest of its text")
        if self.replaces == self.id:
            raise ValueError("a grade cannot replace itself")
        if self.withdrawn and self.replaces is None:
            raise ValueError("a grade that is 'withdrawn' needs 'replaces', the id of the grade that it takes back")
        return self

    @classmethod
    def of(
        cls,
        *,
        inputs: Mapping[str, Any],
        output: str,
        subject: str = OUTPUT_SUBJECT,
        subject_text: str = "",
        **rest: Any,
    ) -> Self:
        """A grade on this output of these inputs; the digests and the id are computed."""
        fields = {
            **rest,
            "key": output_key(inputs, output),
            "output_digest": text_digest(output, KEY_LENGTH),
            "subject": subject,
            "subject_digest": text_digest(subject_text, KEY_LENGTH) if subject_text else None,
        }
        return cls.identified(fields)

    @classmethod
    def identified(cls, fields: Mapping[str, Any]) -> Self:
        links = {name: fields[name] for name in ("replaces", "withdrawn") if fields.get(name)}
        draft = cls.model_validate({**fields, "replaces": None, "withdrawn": False, "id": "0" * KEY_LENGTH})
        content = draft.model_dump(mode="json", exclude={"id"}, exclude_defaults=True)
        name = digest({**content, "replaces": None, **links}, KEY_LENGTH)
        return cls.model_validate({**draft.model_dump(), **links, "id": name})

    def instead_of(self, other: Grade, *, withdrawn: bool = False, **changed: Any) -> Grade:
        """A grade that says the same as this one, with some fields changed, in the place of another one."""
        return self.identified({**self.model_dump(), **changed, "replaces": other.id, "withdrawn": withdrawn})


def output_key(inputs: Mapping[str, Any], output: str) -> str:
    """By what grades and examples know an output: a hash of its inputs and its text."""
    return digest([dict(inputs), output], KEY_LENGTH)


def superseded(grades: Iterable[Grade]) -> frozenset[str]:
    """The ids of the grades that another replaces, or that were taken back."""
    grades = tuple(grades)
    replaced = frozenset(grade.replaces for grade in grades if grade.replaces is not None)
    return replaced | frozenset(grade.id for grade in grades if grade.withdrawn)


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
