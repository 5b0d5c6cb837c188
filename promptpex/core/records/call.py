"""Requests to models and completions; outputs of models under test, and the verdicts on them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field, field_validator

from promptpex.core.ids import digest
from promptpex.core.records._base import Amount, Count, Ordinal, Record
from promptpex.core.records.prompt import Message
from promptpex.core.surrogates import replace_surrogates


class Params(Record):
    """Settings of a request. None leaves the choice to the provider.

    ``extra`` is passed unchanged to providers that take unknown parameters.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    logprobs: bool = False
    extra: dict[str, Any] = Field(default_factory=dict)


class ModelName(Record):
    """A model as the user names it: ``gpt-4o-mini?temperature=0&max_tokens=200``.

    Attributes:
        name: without the parameters; what the request carries.
        params: what the ``?`` part says.
        api_base: the server's base URL, from ``?api_base=``, ``--api-base`` or the provider's own variable.
        backend: what else decides who answers to the name: the provider's address as the environment sets it, or the
            digest of a model's weights.
        label: as typed, or the name that the user gave it; what tables call it.
        spelled: the model with its parameters as typed, where the label is a name.
        key_env: the environment variable that holds its key, where the user named one.
        price: US dollars per million tokens in and out, where the settings give the name a price.
    """

    name: str
    params: Params = Params()
    api_base: str | None = None
    backend: str | None = None
    label: str
    spelled: str | None = None
    key_env: str | None = None
    price: tuple[float, float] | None = None

    @property
    def as_asked(self) -> str:
        return self.spelled or self.label


class Request(Record):
    """One question to one model.

    Attributes:
        model: the model's name, without parameters.
        messages: plain text turns.
        params: settings.
        reply_schema: JSON schema the reply should follow, where a structured reply is wanted.
        template: fingerprint of the stage template that made the messages; None for outputs under test.
        repeat: number of the repeat, from 0: each repeat is a request of its own.
        api_base: the server, where the user named one.
        backend: as in ``ModelName``.
        stage: for meters and logs; not part of the id.
        fresh: whether to ask again although the store has an answer; neither part of the id nor stored.
        strict: whether a server that can may be told to hold the reply to its schema; neither part of the id nor
            stored.
        label: the model as the user named it, for events; neither part of the id nor stored.
        key_env, price: as in ``ModelName``; neither part of the id nor stored.
    """

    model: str
    messages: tuple[Message, ...]
    params: Params = Params()
    reply_schema: dict[str, Any] | None = None
    template: str | None = None
    repeat: Ordinal = 0
    api_base: str | None = None
    backend: str | None = None
    stage: str = "output"
    fresh: bool = Field(default=False, exclude=True)
    strict: bool = Field(default=True, exclude=True)
    label: str = Field(default="", exclude=True)
    key_env: str | None = Field(default=None, exclude=True)
    price: tuple[float, float] | None = Field(default=None, exclude=True)

    @cached_property
    def id(self) -> str:
        """SHA-256 of the canonical JSON of everything that shapes the reply.

        Fields at their default are left out, so that adding a field does not change older ids.
        """
        return digest(self.model_dump(mode="json", exclude={"stage"}, exclude_defaults=True))

    @property
    def answerer(self) -> tuple[str, str | None, str | None]:
        return self.model, self.api_base, self.backend

    @property
    def is_replay(self) -> bool:
        return self.model.startswith("replay/")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        return self.replace(**(update or {}))


class TokenLogprob(Record):
    """One token of a reply with its natural-log probability, and the likeliest alternatives."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Completion(Record):
    """What a model answered.

    Attributes:
        text: the answer; may be empty.
        finish_reason: ``stop``, ``length``, ``content_filter`` or another word of the provider; None if it gave none.
        refusal: the text of the API's own refusal field, where it has one.
        reasoning: thinking that the provider returned apart from the answer.
        tokens_in, tokens_out: as the provider counted; None if it gave no count, or an impossible one.
        cost_usd: US dollars; None = unknown, never 0 for unknown.
        latency_ms: from sending to the last byte, without waiting in our queue.
        model_reported: the model id that the provider returned.
        logprobs: per token, where asked for and given.
        cached: whether the answer came from the store; not stored.
    """

    text: str
    finish_reason: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    tokens_in: Count = None
    tokens_out: Count = None
    cost_usd: Amount = None
    latency_ms: Amount = None
    model_reported: str | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    cached: bool = Field(default=False, exclude=True)

    @field_validator("text", "refusal", "reasoning")
    @classmethod
    def _encodable(cls, text: str | None) -> str | None:
        """Lone surrogates, which no file can hold, become U+FFFD."""
        return replace_surrogates(text) if text is not None else None


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
        return (self.case, self.model, self.repeat)
