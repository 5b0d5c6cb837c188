"""What assertions are synthesised from, and the assertions that are: versions, deltas, criteria, candidates.

The terms are SPADE's (arXiv 2401.03038, sections 2 to 4).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal, Self

from pydantic import Field

from promptpex.core.ids import digest, text_digest
from promptpex.core.records._base import Ordinal, OwnedRecord, Record
from promptpex.core.records.prompt import Message, Role
from promptpex.core.records.spec import Check, Origin

Tag = Literal["added", "removed"]
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

SHOWN_SHARE = 0.25
"""The share of inputs whose grades and notes models may be shown; on the others assertions and judges are measured."""

WORDING_LENGTH = 12
"""Hex digits that a criterion's text is remembered by."""

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


class Criterion(OwnedRecord):
    """What an output should be like, in words (section 3.2).

    Attributes:
        text: decidable on one output, with its input where needed.
        source: the words of the prompt that it rests on.
        version: the version whose delta it comes from; None where it comes from a rule of the spec.
        rule: the id of that rule; None where it comes from a delta.
        by: by what it is decided; candidates of another kind are not run and not chosen from.
        selected: whether it takes part; candidates of one that does not are not run and not chosen from.
        max_ffr: the share of good outputs that its own assertion may flag at most; None: the limit of the whole choice.
        must: whether an output has to pass it whatever else it is like.
        notes: ids of the grades whose notes it was made from.
        origin, content: as in ``Rule``.
    """

    not_content: ClassVar[frozenset[str]] = frozenset(("content", "origin", "by", "selected", "max_ffr", "must"))

    id: str = Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")
    text: str = Field(min_length=1)
    category: Category = "other"
    source: str = ""
    version: str | None = None
    rule: str | None = None
    by: Means = "both"
    selected: bool = True
    max_ffr: float | None = Field(default=None, ge=0, le=1)
    must: bool = False
    notes: tuple[str, ...] = ()
    origin: Origin = "extracted"
    content: str | None = None

    @property
    def wording(self) -> str:
        """The digest of its text: what was made for other words of it is out of date."""
        return text_digest(self.text, WORDING_LENGTH)

    def with_settings_of(self, other: Criterion) -> Criterion:
        """The criterion with what a person set of another one, whatever either says."""
        return self.replace(by=other.by, selected=other.selected, max_ffr=other.max_ffr, must=other.must)


class Candidate(OwnedRecord):
    """An assertion that implements one or two criteria.

    Attributes:
        id: a telling name, such as ``mentions_every_product``.
        criteria: ids of the criteria.
        description: what it looks at, in one sentence.
        check: the check itself, of any kind, ``python`` and ``question`` among them.
        choice: what a person decided; None: selection decides.
        wordings: by the id of a criterion, the digest of the text that it was written for; of others that is not known.
        origin, content: as in ``Rule``.
    """

    not_content: ClassVar[frozenset[str]] = frozenset(("content", "origin", "choice", "wordings"))

    id: str = Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")
    criteria: tuple[str, ...] = ()
    description: str = ""
    check: Check
    choice: Choice | None = None
    wordings: dict[str, str] = Field(default_factory=dict)
    origin: Origin = "generated"
    content: str | None = None

    @property
    def fingerprint(self) -> str:
        """The digest of what decides its results: the check alone."""
        return digest(self.check.to_dict(), 16)

    def written_for(self, criteria: Iterable[Criterion]) -> Self:
        """The candidate, said to be for the texts that those of its criteria have now which are among these."""
        return self.replace(wordings={one.id: one.wording for one in criteria if one.id in self.criteria})

    def is_outdated(self, criteria: Iterable[Criterion]) -> bool:
        """Whether one of these criteria has other words now than it was written for."""
        return any(self.wordings.get(one.id, one.wording) != one.wording for one in criteria)

    @property
    def named_check(self) -> Check:
        """The check with its origin: the candidate's id as its ``metric``."""
        return self.check.replace(metric=self.id)


class Implication(Record):
    """That every output which passes one candidate passes another, so that choosing the first spares the second.

    Attributes:
        stronger, weaker: ids of candidates: ``stronger`` implies ``weaker``.
        evidence: who says so: the same code, a judge, or a person.
        accepted: a person's word; None: nobody has looked, and the evidence counts. False strikes the pair.
    """

    stronger: str
    weaker: str
    evidence: Literal["same-code", "judge", "person"]
    accepted: bool | None = None

    @property
    def id(self) -> str:
        """What it is known by in its file."""
        return f"{self.stronger} -> {self.weaker}"

    @property
    def is_peoples(self) -> bool:
        """Whether a person said it, or said something of it, so that it stays."""
        return self.evidence == "person" or self.accepted is not None


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


class Synthesis(Record):
    """The file ``candidates.yaml``: what a prompt's assertions are chosen from, edited by people."""

    prompt: str
    criteria: tuple[Criterion, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    implications: tuple[Implication, ...] = ()


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
