"""Outputs of models under test, and the verdicts of checks and judges on them."""

from __future__ import annotations

from typing import Literal, Self

from promptpex.core.records._base import Amount, Count, Ordinal, Record
from promptpex.core.records.call import TokenLogprob

Status = Literal["pass", "fail", "not_concerned", "unscored"]
"""``not_concerned``: the rule has a condition that does not hold here; it is neither kept nor broken."""

NOT_CONCERNED: Status = "not_concerned"

UNCLEAR = "judge-unclear"
"""The reason code of a verdict where a judge says that it cannot tell."""

NO_VALUE = "no-value"
"""The reason code where the output lacks the value that a check looks at, or it is not a text."""

UNTRUSTED = "untrusted-judge"
"""The reason code where the judges of a rule are not known to agree with people as far as ``min_agreement`` demands."""

CUT = {
    prefix + ended: prefix + cut
    for prefix in ("", "judge-")
    for ended, cut in (("budget", "cut-by-budget"), ("deadline", "cut-by-deadline"), ("interrupted", "cut-by-stop"))
}
"""By the reason code of what was never sent, since a budget, a deadline or a stop ended the run, the code of what was
sent by then and had no usable answer."""

NOT_ASKED = frozenset(CUT)
"""Reason codes of outputs and verdicts that were never requested. Unlike an answer that could not be scored, and one
that was cut, they say nothing about the model or the judge."""


class Output(Record):
    """What a model answered to a case, or the error it gave instead.

    Attributes:
        case: the case's id.
        model: the model's label.
        repeat: from 0.
        text: the answer; None when there was none.
        error: the reason code of the missing or unusable answer (an ``errors.ModelError.reason``); None = usable.
        message: the error's sentence.
        request: the id of the request.
        tokens_in, tokens_out, cost_usd, latency_ms, finish_reason, model_reported, logprobs: as in ``Completion``.
    """

    case: str
    model: str
    repeat: Ordinal = 0
    text: str | None = None
    error: str | None = None
    message: str | None = None
    request: str | None = None
    finish_reason: str | None = None
    tokens_in: Count = None
    tokens_out: Count = None
    cost_usd: Amount = None
    latency_ms: Amount = None
    model_reported: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """Case, model, repeat: unique in a run."""
        return (self.case, self.model, self.repeat)


OutputKey = tuple[str, str, int]
"""Case, model, repeat."""


class Verdict(Record):
    """Pass, fail, not concerned or unscored, by a check or a judge, for one rule on one output.

    Attributes:
        rule: the rule's id: of the spec, or one of ``Manifest.mode_rules``.
        status: the verdict.
        reason: in words.
        unscored: the reason code when ``status`` is ``unscored`` (``no-judge``, ``truncated``, ``malformed``, ...).
            ``no-judge`` of a check: it passes, but decides the rule only in part, and no judge was asked.
        source: what decided: ``check:regex``, ``judge:gpt-4o``, ``none``.
        fingerprint: hash of the check or of the judge's template and settings.
        confidence: probability of the chosen label by the judge's log-probabilities, where given.
        counts: whether it decides its rule; False for a judge where code decides, for one judge of several, and for a
            rule that nothing judges in this run.
        turn: from 0, the times the same judge was asked before; later turns measure its self-agreement and never count.
    """

    case: str
    model: str
    repeat: Ordinal = 0
    rule: str
    status: Status
    reason: str = ""
    unscored: str | None = None
    source: str
    fingerprint: str = ""
    confidence: float | None = None
    counts: bool = True
    turn: Ordinal = 0

    @classmethod
    def of(
        cls,
        key: tuple[str, str, int],
        rule: str,
        status: Status,
        source: str,
        *,
        reason: str = "",
        unscored: str | None = None,
        fingerprint: str = "",
        confidence: float | None = None,
        counts: bool = True,
        turn: int = 0,
    ) -> Self:
        """The verdict on ``rule`` for the output with this ``key``."""
        case, model, repeat = key
        return cls(
            case=case,
            model=model,
            repeat=repeat,
            rule=rule,
            status=status,
            reason=reason,
            unscored=unscored,
            source=source,
            fingerprint=fingerprint,
            confidence=confidence,
            counts=counts,
            turn=turn,
        )

    @property
    def key(self) -> tuple[str, str, int]:
        """The key of the output it judges."""
        return (self.case, self.model, self.repeat)
