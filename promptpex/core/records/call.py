"""Requests to models, and completions: what the models answered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

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
        """The model with its parameters, whatever it is called."""
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
        """Who answers: the model, its server and its backend."""
        return self.model, self.api_base, self.backend

    @property
    def is_replay(self) -> bool:
        """Whether a recording answers it."""
        return self.model.startswith("replay/")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As ``replace``: pydantic's own would carry the remembered id over to changed fields."""
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
