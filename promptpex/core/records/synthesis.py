"""The file ``candidates.yaml``: criteria, assertions that may be chosen for them, and the outputs they are tried on.

The terms are SPADE's (arXiv 2401.03038, sections 2 to 4).

The terms are SPADE's (arXiv 2401.03038, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal, Self

from pydantic import Field

from promptpex.core.ids import digest, text_digest
from promptpex.core.records._base import MACHINES, Ordinal, OwnedRecord, Record
from promptpex.core.records.spec import Check, Origin

SHOWN_SHARE = 0.25
"""The share of inputs whose grades and notes models may be shown; on the others assertions and judges are measured."""

CandidateStatus = Literal["pass", "fail", "error"]
"""What a candidate says of an example. An error counts as a fail in selection (section 4.1) and is shown apart."""


class Example(Record):
    """An output of the final version, with its label.

    Attributes:
        id: the digest of the inputs and the output (``output_key``).
        inputs: of the prompt.
        prompt: what the model was sent, as one text.
        output: what it answered.
        label: what people say of it; None where they say nothing, or nothing that counts.
        label_from: how the label came about, in words, such as ``2 of 3 graders``.
        from_table: whether the label comes from a table of labels, which may be gone, and not from the file of grades.
        case, model, repeat: where it comes from; empty for imported ones.
        times: how many outputs of the run have this text for these inputs: they are one example.
        version: the fingerprint of the prompt that gave it; empty where that is not known, as of imported ones.
        put_up: the day of production whose sample it is in, such as ``2026-03-01``; empty for outputs that were not
            put up for grading from a log.
    """

    id: str
    inputs: dict[str, object] = Field(default_factory=dict)
    prompt: str = ""
    output: str
    label: Literal["good", "bad"] | None = None
    label_from: str = ""
    from_table: bool = False
    case: str = ""
    model: str = ""
    repeat: Ordinal = 0
    times: int = Field(default=1, ge=1)
    version: str = ""
    put_up: str = Field(default="", max_length=10)

    @property
    def name(self) -> str:
        """How it is called: by its case, model and repeat, else by the beginning of its id."""
        if not self.case:
            return self.id[:8]
        return "/".join([self.case, *([self.model, str(self.repeat)] if self.model else [])])

    @property
    def cluster(self) -> str:
        """What it shares with examples that are like it: its case, else its inputs, else nothing."""
        if self.case:
            return f"case {self.case}"
        return f"inputs {digest(self.inputs, 16)}" if self.inputs else f"output {self.id}"

    @property
    def is_shown(self) -> bool:
        """Whether models may be shown it with its grades, as when they write candidates or judge by examples.

        It is in ``SHOWN_SHARE`` of all inputs (of all outputs, where there are no inputs): always the same ones, also
        in other runs and for other models. What a model was shown does not measure what it made.
        """
        key = digest(["shown", self.inputs or self.id], 8)
        return int(key, 16) < SHOWN_SHARE * 16**8


class CandidateResult(Record):
    """A cell of the matrix: what a candidate says of an example.

    Attributes:
        candidate: the fingerprint of the candidate's check, so that an edited one is run again.
        example: the example's id.
        status: an error is anything that is neither pass nor fail.
        reason: in words; of an error also its code.
        basis: the digest of what else code decided it by: the version of the checks, the prompt as it was sent.
        judge: the fingerprint of the judge that the candidate may have asked; empty for code.
        asked: how many answers of the judge it took.
    """

    candidate: str
    example: str
    status: CandidateStatus
    reason: str = ""
    basis: str = ""
    judge: str = ""
    asked: int = Field(default=0, ge=0)


Category = Literal[
    "response-format",
    "example-demonstration",
    "prompt-clarification",
    "workflow-description",
    "data-integration",
    "quantity",
    "inclusion",
    "exclusion",
    "qualitative-criteria",
    "other",
]
"""The second level of SPADE's taxonomy (Figure 2, Table 2). The first three are structural, then come those about
content, then the rest; ``synthesis.taxonomy`` says what each is."""

Choice = Literal["must", "never"]
"""What a person decided of a candidate: it is part of every selection, or of none."""

Means = Literal["code", "judge", "both"]
"""By what a criterion is to be decided."""

WORDING_LENGTH = 12
"""Hex digits that a criterion's text is remembered by."""


class Criterion(OwnedRecord):
    """What an output should be like, in words (section 3.2)."""

    not_content: ClassVar[frozenset[str]] = frozenset(("content", "origin", "by", "selected", "max_ffr", "must"))

    id: str = Field(
        min_length=1,
        pattern=r"^[A-Za-z0-9_.-]+$",
        description="What the criterion is called; unique in its file.",
        examples=["polite"],
    )
    text: str = Field(
        min_length=1,
        description="The criterion, in a sentence that can be decided on one output, with its input where needed.",
        examples=["The answer thanks the customer."],
    )
    category: Category = Field(
        default="other",
        description="What kind of criterion it is, in the taxonomy of docs/synthesis.md.",
        examples=["inclusion"],
    )
    source: str = Field(
        default="", description="The words of the prompt that it rests on.", examples=["Thank the customer"]
    )
    version: str | None = Field(
        default=None,
        description="The version of the prompt whose change it comes from; none where it comes from a rule.",
        examples=["1a2b3c4"],
        json_schema_extra=MACHINES,
    )
    rule: str | None = Field(
        default=None,
        description="The id of the rule of the spec that it comes from.",
        examples=["short"],
        json_schema_extra=MACHINES,
    )
    by: Means = Field(
        default="both",
        description="What may decide it. Candidates of another kind are not run and not chosen.",
        examples=["code"],
    )
    selected: bool = Field(
        default=True,
        description="Whether it takes part; candidates of one that does not are not run and not chosen.",
        examples=[False],
    )
    max_ffr: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The share of good outputs that its own assertion may flag at most; left out: the limit of the "
        "whole choice.",
        examples=[0.1],
    )
    must: bool = Field(
        default=False,
        description="Whether an output has to pass it whatever else it is like.",
        examples=[True],
    )
    notes: tuple[str, ...] = Field(
        default=(),
        description="The ids of the grades whose notes it was made from.",
        examples=[["8a1b2c3d4e5f"]],
        json_schema_extra=MACHINES,
    )
    origin: Origin = Field(
        default="extracted",
        description="Who made the criterion. One that says no origin is yours.",
        examples=["added"],
        json_schema_extra=MACHINES,
    )
    content: str | None = Field(
        default=None,
        description="The hash of the criterion as promptpex wrote it. One that no longer fits it was edited by hand "
        "and is yours.",
        examples=["0f4c3a9b12de"],
        json_schema_extra=MACHINES,
    )

    @property
    def wording(self) -> str:
        """The digest of its text: what was made for another wording of it is out of date."""
        return text_digest(self.text, WORDING_LENGTH)

    def with_settings_of(self, other: Criterion) -> Criterion:
        return self.replace(by=other.by, selected=other.selected, max_ffr=other.max_ffr, must=other.must)


class Candidate(OwnedRecord):
    """An assertion that implements one or two criteria."""

    not_content: ClassVar[frozenset[str]] = frozenset(("content", "origin", "choice", "wordings"))

    id: str = Field(
        min_length=1,
        pattern=r"^[A-Za-z0-9_.-]+$",
        description="A telling name; unique in its file.",
        examples=["mentions_every_product"],
    )
    criteria: tuple[str, ...] = Field(
        default=(), description="The ids of the criteria that it implements.", examples=[["polite"]]
    )
    description: str = Field(
        default="",
        description="What it looks at, in one sentence.",
        examples=["The answer holds a word of thanks."],
    )
    check: Check = Field(
        description="The check itself, of any kind, python and question among them.",
        examples=[{"kind": "icontains", "value": "thank"}],
    )
    choice: Choice | None = Field(
        default=None,
        description="Your decision: it is part of every selection, or of none. Left out, selection decides.",
        examples=["must"],
    )
    wordings: dict[str, str] = Field(
        default_factory=dict,
        description="By the id of a criterion, the hash of the text that the candidate was written for.",
        examples=[{"polite": "0f4c3a9b12de"}],
        json_schema_extra=MACHINES,
    )
    origin: Origin = Field(
        default="generated",
        description="Who made the candidate. One that says no origin is yours.",
        examples=["added"],
        json_schema_extra=MACHINES,
    )
    content: str | None = Field(
        default=None,
        description="The hash of the candidate as promptpex wrote it. One that no longer fits it was edited by hand "
        "and is yours.",
        examples=["8a1b2c3d4e5f"],
        json_schema_extra=MACHINES,
    )

    @property
    def fingerprint(self) -> str:
        return digest(self.check.to_dict(), 16)

    def written_for(self, criteria: Iterable[Criterion]) -> Self:
        """The candidate, said to be for the texts that those of its criteria have now which are among these."""
        return self.replace(wordings={one.id: one.wording for one in criteria if one.id in self.criteria})

    def is_outdated(self, criteria: Iterable[Criterion]) -> bool:
        return any(self.wordings.get(one.id, one.wording) != one.wording for one in criteria)

    @property
    def named_check(self) -> Check:
        return self.check.replace(metric=self.id)


class Implication(Record):
    """That every output which passes one candidate passes another, so that choosing the first spares the second."""

    stronger: str = Field(
        description="The id of the candidate that implies the other.", examples=["mentions_every_product"]
    )
    weaker: str = Field(description="The id of the candidate that it implies.", examples=["mentions_a_product"])
    evidence: Literal["same-code", "judge", "person"] = Field(
        description="Who says so: the same code, a judge, or a person.", examples=["person"]
    )
    accepted: bool | None = Field(
        default=None,
        description="Your word on it; false strikes the pair. Left out, nobody has looked, and the evidence counts.",
        examples=[False],
    )

    @property
    def id(self) -> str:
        return f"{self.stronger} -> {self.weaker}"

    @property
    def is_peoples(self) -> bool:
        """Whether a person said it, or said something of it, so that it stays."""
        return self.evidence == "person" or self.accepted is not None


class Synthesis(Record):
    """The file ``candidates.yaml``: what a prompt's assertions are chosen from, edited by people."""

    prompt: str = Field(description="The name of the prompt's file.", examples=["prompt.md"])
    criteria: tuple[Criterion, ...] = Field(
        default=(),
        description="What outputs should be like, in words.",
        examples=[[{"id": "polite", "text": "The answer thanks the customer."}]],
    )
    candidates: tuple[Candidate, ...] = Field(
        default=(),
        description="Assertions that may be chosen, each for one or two criteria.",
        examples=[[{"id": "thanks", "criteria": ["polite"], "check": {"kind": "icontains", "value": "thank"}}]],
    )
    implications: tuple[Implication, ...] = Field(
        default=(),
        description="Which candidate makes which other one unnecessary.",
        examples=[[{"stronger": "thanks_by_name", "weaker": "thanks", "evidence": "person"}]],
    )
