"""Cases: inputs that test a rule or its inverse."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from promptpex.core.match_kinds import DEFAULT_MATCH, MATCH_PATTERN, match_name
from promptpex.core.records._base import MACHINES, OwnedRecord, Record
from promptpex.core.records.spec import Origin

Match = Annotated[str, AfterValidator(match_name), Field(json_schema_extra={"pattern": MATCH_PATTERN})]
"""How an output is compared with the expected one, by the comparison's name (``core.matching``)."""


class Rating(Record):
    """How much a case is worth, as a model rated it beside others."""

    severity: int = Field(
        ge=1,
        le=5,
        description="How bad a failure on this input would be for whoever uses the output, from 1 to 5.",
        examples=[4],
    )
    importance: int = Field(
        ge=1, le=5, description="How much it matters in use that such inputs are coped with, from 1 to 5.", examples=[3]
    )
    redundant_with: str | None = Field(
        default=None, description="The id of a case that tests the same.", examples=["short-1"]
    )
    of: str | None = Field(
        default=None,
        description="The hash of what was rated; a rating that no longer fits it is made again.",
        examples=["0f4c3a9b12de"],
    )

    @property
    def value(self) -> int:
        return self.severity * self.importance


class Case(OwnedRecord):
    """One test input."""

    not_content: ClassVar[frozenset[str]] = frozenset(("content", "origin", "inputs_fingerprint", "rating", "aside"))
    measured: ClassVar[frozenset[str]] = frozenset(("rating",))

    id: str = Field(
        min_length=1,
        pattern=r"^[A-Za-z0-9_.-]+$",
        description="What the case is called in tables, reports and --case; unique in its file. A case without one is "
        "called by its inputs.",
        examples=["two-questions", "c1"],
    )
    rule: str | None = Field(
        default=None, description="The id of the rule that it aims at; without one it aims at none.", examples=["short"]
    )
    inverse: bool = Field(
        default=False,
        description="Whether it tempts the model to break the rule, as its inverse says.",
        examples=[True],
    )
    inputs: dict[str, Any] = Field(
        description="A value for each variable of the prompt. A prompt that names no variable has one, input.",
        examples=[{"question": "Where is my parcel?"}],
    )
    reasoning: str = Field(
        default="",
        description="Why this input tests the rule.",
        examples=["Two questions in one invite a long answer."],
    )
    expected: str | None = Field(default=None, description="The right output, where it is known.", examples=["OTHER"])
    also_right: tuple[str, ...] = Field(
        default=(),
        description="Other outputs that are right as well; the first is under expected.",
        examples=[["NONE", "UNCLEAR"]],
    )
    match: Match | None = Field(
        default=None,
        description="How outputs are compared with the expected one: normalised, exact, json, set, asked, or numeric "
        "with a tolerance.",
        examples=["exact", "numeric:1%"],
    )
    origin: Origin = Field(
        default="generated",
        description="Who made the case. A case that says no origin is yours; promptpex changes only generated ones.",
        examples=["added"],
        json_schema_extra=MACHINES,
    )
    scenario: str | None = Field(
        default=None, description="The scenario that the case belongs to.", examples=["angry customer"]
    )
    answer_in_context: bool | None = Field(
        default=None,
        description="Whether the context that the input gives holds the answer; left out where that is not recorded.",
        examples=[False],
    )
    inputs_fingerprint: str | None = Field(
        default=None,
        description="The hash of what a generated case depends on; when that has changed the case is made again.",
        examples=["8a1b2c3d4e5f"],
        json_schema_extra=MACHINES,
    )
    expanded_from: str | None = Field(
        default=None,
        description="The id of the shorter case that this one grew from.",
        examples=["short-1"],
        json_schema_extra=MACHINES,
    )
    expected_from: str | None = Field(
        default=None,
        description="The model that gave the expected output, and how sure it was.",
        examples=["gpt-4o (0.9)"],
        json_schema_extra=MACHINES,
    )
    invalid: str | None = Field(
        default=None,
        description="Why the case is not used, such as that it breaks the input spec. Such a case is not run.",
        examples=["the question is empty"],
        json_schema_extra=MACHINES,
    )
    rating: Rating | None = Field(
        default=None,
        description="How much the case is worth, as a model rated it.",
        examples=[{"severity": 4, "importance": 3}],
        json_schema_extra=MACHINES,
    )
    aside: str | None = Field(
        default=None,
        description="Why generate --keep-best has put the case aside. Such a case is not run.",
        examples=["rated lower than 20 others"],
        json_schema_extra=MACHINES,
    )
    content: str | None = Field(
        default=None,
        description="The hash of the case as it was generated. A case that no longer fits it was edited by hand and is "
        "yours.",
        examples=["0f4c3a9b12de"],
        json_schema_extra=MACHINES,
    )

    @model_validator(mode="after")
    def _one_first(self) -> Self:
        if self.also_right and self.expected is None:
            raise ValueError("also_right names further right outputs: write the first under expected")
        return self


class Suite(Record):
    """All the cases of a prompt."""

    prompt: str = Field(
        default="",
        description="The name of the prompt's file, next to this one. Left out: mail.cases.yaml belongs to mail.md.",
        examples=["prompt.md"],
    )
    match: Match | None = Field(
        default=None,
        description="How outputs are compared with the expected ones, for all cases that do not say it.",
        examples=["json"],
    )
    cases: tuple[Case, ...] = Field(
        default=(),
        description="The inputs that the prompt is tried on, in order.",
        examples=[
            [{"id": "two-questions", "rule": "short", "inputs": {"question": "Where is it, and when does it come?"}}]
        ],
    )

    @cached_property
    def by_id(self) -> Mapping[str, Case]:
        return {case.id: case for case in self.cases}

    def case(self, case_id: str) -> Case | None:
        return next((case for case in self.cases if case.id == case_id), None)

    def match_of(self, case: Case, chosen: str | None = None) -> str:
        """How outputs are compared with a case's expected one: as the case says, else as ``chosen`` for all, else as
        the suite says."""
        return case.match or chosen or self.match or DEFAULT_MATCH

    def usable(self) -> tuple[Case, ...]:
        return tuple(case for case in self.valid() if case.aside is None)

    def valid(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.invalid is None)
