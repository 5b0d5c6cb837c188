"""From rules to checks: the author proposes code that decides a rule, and only a proposal that proves itself is kept.

It must compile, pass every output that it was given as keeping the rule, fail those given as breaking it, and not
contradict all that was judged of this rule so far.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from promptpex.assertions import check, compile_checks
from promptpex.codecs.wording import plural
from promptpex.core.errors import CheckError
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import Check, Output, Rule, Verdict
from promptpex.core.stage_templates import render
from promptpex.llm.map_requests import map_requests
from promptpex.llm.role_model import RoleModel
from promptpex.llm.schemas import first, shortened

STAGE = "checks"
LISTS = frozenset({"contains-any", "contains-all", "icontains-any", "icontains-all"})
BARE = frozenset({"is-xml", "is-html", "is-sql"})
SCHEMAS = frozenset({"is-json", "contains-json"})

EXCERPT, LEAD = 120, 30
"""Characters of an example that a reason shows, and how many of them stand before what sets it apart."""

Kind = Literal[
    "regex", "not-regex", "contains", "not-contains", "icontains", "not-icontains", "contains-any", "not-contains-any",
    "contains-all", "not-contains-all", "icontains-any", "not-icontains-any", "icontains-all", "not-icontains-all",
    "equals", "not-equals", "starts-with", "not-starts-with", "ends-with", "not-ends-with", "is-json", "not-is-json",
    "contains-json", "not-contains-json", "word-count", "not-word-count", "is-xml", "not-is-xml", "is-html",
    "not-is-html", "is-sql", "not-is-sql",
]  # fmt: skip
"""What may be proposed; a reply's schema holds the model to it."""

Samples = Annotated[list[Annotated[str, shortened(50_000)]], first(4), Field(max_length=4)]


class CheckReply(BaseModel):
    """One proposed check."""

    kind: Kind
    value: Annotated[str, shortened(50_000)]
    minimum: int | None
    maximum: int | None
    unit: Literal["words", "sentences", "lines", "characters"]


class ChecksReply(BaseModel):
    """The checks for one rule, with outputs to try them on."""

    keeps: Samples
    breaks: Samples
    checks: Annotated[list[CheckReply], first(4), Field(max_length=4)]
    decides: Literal["wholly", "partly", "none"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What became of a rule's proposal.

    Attributes:
        rule: the rule's id.
        checks: what was proposed; empty when nothing was.
        decides: how far they decide the rule.
        dropped: why they are not kept; None = kept.
    """

    rule: str
    checks: tuple[Check, ...] = ()
    decides: Literal["wholly", "partly"] = "wholly"
    dropped: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Outputs with verdicts that were given before, to hold proposals against."""

    outputs: Sequence[Output] = ()
    verdicts: Sequence[Verdict] = ()
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, rule: str) -> list[tuple[Output, bool]]:
        """The judged outputs of a rule, each with whether it kept it; several verdicts on one are each counted."""
        texts = {output.key: output for output in self.outputs if output.error is None}
        scored = [v for v in self.verdicts if v.rule == rule and v.status in ("pass", "fail") and v.key in texts]
        return [(texts[verdict.key], verdict.status == "pass") for verdict in scored]


async def propose_checks(
    author: RoleModel,
    rules: Sequence[Rule],
    *,
    intent: str,
    evidence: Evidence = Evidence(),
    instructions: str = "",
    emit: Listener = ignore_events,
) -> list[Proposal]:
    """A proposal for every rule that has no checks yet, in order, each kept or dropped with its reason."""
    unchecked = [rule for rule in rules if not rule.checks and not rule.stale]

    async def ask(rule: Rule) -> Proposal | None:
        rendered = render(
            "specs/checks", intent=intent, rule=rule.rule, source=rule.source or "", instructions=instructions
        )
        reply = await author.ask(rendered, ChecksReply, stage=STAGE)
        return examined(rule, reply.value, evidence)

    nothing: Proposal | None = None
    proposals = await map_requests(STAGE, author.label, unchecked, ask, emit, default=nothing)
    pairs = zip(unchecked, proposals, strict=True)
    return [proposal or Proposal(rule.id, dropped="the author gave no usable reply") for rule, proposal in pairs]


def with_checks(rules: Sequence[Rule], proposals: Sequence[Proposal]) -> list[Rule]:
    """The rules, each with the checks of its proposal where that is kept."""
    kept = {proposal.rule: proposal for proposal in proposals if proposal.dropped is None and proposal.checks}
    return [
        rule.replace(checks=kept[rule.id].checks, decides=kept[rule.id].decides) if rule.id in kept else rule
        for rule in rules
    ]


def examined(rule: Rule, reply: ChecksReply, evidence: Evidence) -> Proposal:
    """The proposal of a reply, dropped where it does not compile, separate its own examples, or fit the evidence."""
    if reply.decides == "none" or not reply.checks:
        return Proposal(rule.id, dropped="code cannot decide it, says the author")
    try:
        checks = tuple(read_check(one) for one in reply.checks)
        compile_checks(checks, where=f"rule {rule.id}")
    except CheckError as error:
        return Proposal(rule.id, dropped=f"does not compile: {error}")
    proposal = Proposal(rule.id, checks, reply.decides)
    reason = _not_separating(proposal, reply) or _contradicted(proposal, evidence)
    return Proposal(rule.id, checks, reply.decides, reason)


def read_check(reply: CheckReply) -> Check:
    """The check that a reply means.

    Raises:
        CheckError: a schema that is not JSON, a count without bounds, or template syntax, which a model may not write.
    """
    if "{{" in reply.value or "{%" in reply.value:
        raise CheckError("a proposed value may not hold template syntax")
    base = reply.kind.removeprefix("not-")
    if base == "word-count":
        bounds = {"min": reply.minimum, "max": reply.maximum}
        value: Any = {name: bound for name, bound in bounds.items() if bound is not None}
        if not value:
            raise CheckError("word-count needs a minimum or a maximum")
        return Check(kind=reply.kind, value=value, unit=reply.unit)
    if base in SCHEMAS:
        return Check(kind=reply.kind, value=_schema(reply.value))
    if base in LISTS:
        return Check(kind=reply.kind, value=[line for line in reply.value.split("\n") if line.strip()])
    return Check(kind=reply.kind, value=None if base in BARE else reply.value)


def _schema(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckError(f"the schema is not JSON ({str(error)[:80]})") from error


def _not_separating(proposal: Proposal, reply: ChecksReply) -> str | None:
    """Why the checks do not tell the examples apart; for ``partly`` one broken example that is caught is enough."""
    if not reply.keeps or not reply.breaks:
        return "came without outputs that keep the rule and outputs that break it"
    refused = [text for text in reply.keeps if _status(proposal.checks, text) != "pass"]
    caught = [text for text in reply.breaks if _status(proposal.checks, text) == "fail"]
    if refused:
        return f"does not pass an output that should keep the rule: {_excerpt(refused[0], reply.breaks)!r}"
    if len(caught) < (len(reply.breaks) if proposal.decides == "wholly" else 1):
        missed = next(text for text in reply.breaks if text not in caught)
        return f"does not catch an output that should break the rule: {_excerpt(missed, reply.keeps)!r}"
    return None


def _excerpt(text: str, others: Sequence[str]) -> str:
    """What sets an example apart from those of the other side; outputs of one form, as JSON is, begin alike."""
    alike = max((_alike(text, other) for other in others), default=0)
    start = max(0, alike - LEAD) if len(text) > EXCERPT else 0
    end = start + EXCERPT
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _alike(text: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(text), len(other)))


def _contradicted(proposal: Proposal, evidence: Evidence) -> str | None:
    """Whether every verdict so far says otherwise; a pass of checks that decide in part contradicts nothing."""
    judged = evidence.of(proposal.rule)
    statuses = [(_status(proposal.checks, output.text or "", evidence, output), kept) for output, kept in judged]
    agreements = [
        (status == "pass") == kept
        for status, kept in statuses
        if status == "fail" or (status == "pass" and proposal.decides == "wholly")
    ]
    if agreements and not any(agreements):
        return f"contradicts all {plural(len(agreements), 'verdict')} so far"
    return None


def _status(checks: Sequence[Check], text: str, evidence: Evidence | None = None, output: Output | None = None) -> str:
    inputs = evidence.inputs.get(output.case, {}) if evidence and output else {}
    return check(text, list(checks), vars=inputs).status
