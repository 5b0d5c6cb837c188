"""Grades: what people say of outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

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
        """A grade on this output of these inputs; the digests and the id are computed.

        Args:
            subject_text: the text of the rule or criterion.
            rest: the other fields: ``time``, ``grader``, ``case``, ``model``, ``value``, ...
        """
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
        """The grade with these fields and the id that belongs to them, whatever id they bring."""
        links = {name: fields[name] for name in ("replaces", "withdrawn") if fields.get(name)}
        draft = cls.model_validate({**fields, "replaces": None, "withdrawn": False, "id": "0" * KEY_LENGTH})
        content = draft.model_dump(mode="json", exclude={"id"}, exclude_defaults=True)
        name = digest({**content, "replaces": None, **links}, KEY_LENGTH)
        return cls.model_validate({**draft.model_dump(), **links, "id": name})

    def instead_of(self, other: Grade, *, withdrawn: bool = False, **changed: Any) -> Grade:
        """A grade that says the same as this one, with some fields changed, in the place of another one.

        Args:
            withdrawn: whether it says nothing, and only takes the other one back.
        """
        return self.identified({**self.model_dump(), **changed, "replaces": other.id, "withdrawn": withdrawn})


def output_key(inputs: Mapping[str, Any], output: str) -> str:
    """What an output is known by across runs: the digest of its inputs and its text."""
    return digest([dict(inputs), output], KEY_LENGTH)


def superseded(grades: Iterable[Grade]) -> frozenset[str]:
    """The ids of the grades that do not count: those that another one replaces, and withdrawals."""
    grades = tuple(grades)
    replaced = frozenset(grade.replaces for grade in grades if grade.replaces is not None)
    return replaced | frozenset(grade.id for grade in grades if grade.withdrawn)
