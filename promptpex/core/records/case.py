"""Cases: inputs that test a rule or its inverse."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from promptpex.core.matching import DEFAULT_MATCH, MATCH_PATTERN, match_name
from promptpex.core.records._base import OwnedRecord, Record
from promptpex.core.records.spec import Origin

Match = Annotated[str, AfterValidator(match_name), Field(json_schema_extra={"pattern": MATCH_PATTERN})]
"""How an output is compared with the expected one, by the comparison's name (``core.matching``)."""


class Rating(Record):
    """How much a case is worth, as a model rated it beside others.

    Attributes:
        severity: 1 to 5: how bad a failure on this input would be for whoever uses the output.
        importance: 1 to 5: how much it matters in use that such inputs are coped with.
        redundant_with: the id of a case that tests the same; None: none does.
        of: hash of what was rated; a rating whose hash no longer fits is made again.
    """

    severity: int = Field(ge=1, le=5)
    importance: int = Field(ge=1, le=5)
    redundant_with: str | None = None
    of: str | None = None

    @property
    def value(self) -> int:
        """Severity times importance, 1 to 25."""
        return self.severity * self.importance


class Case(OwnedRecord):
    """One test input.

    Attributes:
        id: unique in its suite.
        rule: the id of the rule it aims at; None for a baseline case, which aims at none.
        inverse: whether it aims at the rule's inverse.
        inputs: a value for each variable of the prompt.
        reasoning: why this input tests the rule.
        expected: the right output, where it is known.
        also_right: other outputs that are right as well.
        match: how outputs are compared with these, where the suite does not say it as well.
        origin: who made it.
        scenario: the scenario it belongs to.
        answer_in_context: whether the given context holds the answer; None = not recorded.
        inputs_fingerprint: hash of what a generated case depends on; a case whose hash is stale is made again.
        expanded_from: the id of the shorter case that this one grew from.
        expected_from: where a generated ``expected`` came from, such as ``gpt-4o (0.9)``.
        invalid: why the case is not used (it breaks the input spec, or lint found it unusable); None = usable.
        rating: how much it is worth, where it was rated.
        aside: why it is put aside for now, by ``generate --keep``; None = it is run.
        content: hash of the case as generated; one that no longer matches it was edited by hand.
    """

    not_content: ClassVar[frozenset[str]] = frozenset(("content", "origin", "inputs_fingerprint", "rating", "aside"))
    measured: ClassVar[frozenset[str]] = frozenset(("rating",))

    id: str = Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")
    rule: str | None = None
    inverse: bool = False
    inputs: dict[str, Any]
    reasoning: str = ""
    expected: str | None = None
    also_right: tuple[str, ...] = ()
    match: Match | None = None
    origin: Origin = "generated"
    scenario: str | None = None
    answer_in_context: bool | None = None
    inputs_fingerprint: str | None = None
    expanded_from: str | None = None
    expected_from: str | None = None
    invalid: str | None = None
    rating: Rating | None = None
    aside: str | None = None
    content: str | None = None

    @model_validator(mode="after")
    def _one_first(self) -> Self:
        if self.also_right and self.expected is None:
            raise ValueError("also_right names further right outputs: write the first under expected")
        return self


class Suite(Record):
    """All the cases of a prompt.

    Attributes:
        prompt: the prompt's file.
        match: how outputs are compared with the expected ones, where a case does not say it itself.
        cases: in order.
    """

    prompt: str
    match: Match | None = None
    cases: tuple[Case, ...] = ()

    def case(self, case_id: str) -> Case | None:
        """The case of this id, if there is one."""
        return next((case for case in self.cases if case.id == case_id), None)

    def match_of(self, case: Case, chosen: str | None = None) -> str:
        """How outputs are compared with a case's expected one: as the case says, else as ``chosen`` for all, else as
        the suite says."""
        return case.match or chosen or self.match or DEFAULT_MATCH

    def usable(self) -> tuple[Case, ...]:
        """The cases that are run: neither marked invalid nor put aside."""
        return tuple(case for case in self.valid() if case.aside is None)

    def valid(self) -> tuple[Case, ...]:
        """The cases that are not marked invalid, those put aside among them."""
        return tuple(case for case in self.cases if case.invalid is None)
