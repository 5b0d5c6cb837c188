"""The outputs that candidates are tried on, with people's labels, and what a candidate says of each.

The terms are SPADE's (arXiv 2401.03038, section 4).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from promptpex.core.ids import digest
from promptpex.core.records._base import Ordinal, Record

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
