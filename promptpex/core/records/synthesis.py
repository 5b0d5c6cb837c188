"""What assertions are synthesised from, and what they are tried on: versions of a prompt, deltas, examples.

The terms are SPADE's (arXiv 2401.03038, sections 2 to 4).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from promptpex.core.ids import digest
from promptpex.core.records._base import Ordinal, Record
from promptpex.core.records.candidate import Category
from promptpex.core.records.prompt import Message, Role

Tag = Literal["added", "removed"]

SHOWN_SHARE = 0.25
"""The share of inputs whose grades and notes models may be shown; on the others assertions and judges are measured."""

CandidateStatus = Literal["pass", "fail", "error"]
"""What a candidate says of an example. An error counts as a fail in selection (section 4.1) and is shown apart."""


class PromptVersion(Record):
    """The prompt as it once was.

    Attributes:
        name: a commit's short id, a file's name, or ``working copy``.
        messages: its turns, as Jinja text.
        time: when it was committed or changed, ISO 8601; None where that is unknown.
        note: the commit's subject.
        fingerprint: of the messages, as ``Prompt.fingerprint``.
    """

    name: str
    messages: tuple[Message, ...]
    time: str | None = None
    note: str = ""
    fingerprint: str


class Change(Record):
    """A sentence that a version added or removed, in the turn of this role."""

    tag: Tag
    text: str
    role: Role = "system"


class CategorisedPhrase(Record):
    """A category that a delta falls into, with the words of the delta that show it."""

    category: Category
    source: str


class Delta(Record):
    """What a version changed. The first version is compared with the empty prompt.

    Attributes:
        version, previous: names; ``previous`` is None for the first version.
        changes: a modified sentence is one removed and one added.
        moved: sentences that stand elsewhere and are the same. Where there are none and no changes, the version only
            looks different: white space, lists, quotation marks.
        categories: empty until a model has named them.
    """

    version: str
    previous: str | None = None
    changes: tuple[Change, ...]
    moved: int = 0
    categories: tuple[CategorisedPhrase, ...] = ()


class History(Record):
    """The file ``versions.json``: what a prompt was, what of that was asked about, and with which result.

    Attributes:
        prompt: the file's name.
        versions, deltas: in order; deltas with their categories.
        sentences: digests of the added sentences that criteria were asked for.
        criteria: ids of the criteria that candidates were asked for; none is given again.
        rules: the rules of the spec that criteria were made of, each with the digest of what was taken of it.
        pairs: of checks that a judge compared, by their digests; these need no asking again either.
        in_vain: digests of what an author was asked about, each with the author, that gave nothing usable.
    """

    prompt: str
    versions: tuple[PromptVersion, ...] = ()
    deltas: tuple[Delta, ...] = ()
    sentences: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    rules: dict[str, str] = Field(default_factory=dict)
    pairs: tuple[str, ...] = ()
    in_vain: tuple[str, ...] = ()


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
