"""A model in a role, author or judge; and many small questions to it, where one that fails does not end the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from promptpex.core.errors import ContextTooSmall, EmptyReply, Filtered, MalformedReply, ModelError, TruncatedReply
from promptpex.core.events import Listener, Notice, StepDone, stage_events
from promptpex.core.records import ModelName, Params, Request
from promptpex.core.stage_templates import Rendered
from promptpex.core.translation import stored
from promptpex.engines import run_all
from promptpex.llm.streaming import ListWatcher, Objects, watching
from promptpex.llm.structured import Reply, Structured

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class RoleModel:
    """Asks one model for structured replies to stage templates.

    Attributes:
        structured: the client with what it has learned about structured replies.
        model: who answers.
        defaults: settings that hold where the model's own name does not set them.
    """

    structured: Structured
    model: ModelName
    defaults: Params = Params(temperature=0.0, max_tokens=2048)

    @property
    def label(self) -> str:
        return self.model.label

    @property
    def identity(self) -> list[object]:
        """Who answers, for fingerprints: JSON-ready model as asked for, server, backend and parameters; a name that the
        user gives it changes nothing."""
        return [self.model.as_asked, self.model.api_base, self.model.backend, self.model.params.to_dict()]

    async def ask(
        self,
        rendered: Rendered,
        reply_type: type[T],
        *,
        stage: str,
        repeat: int = 0,
        arriving: Callable[[Objects], None] | None = None,
    ) -> Reply[T]:
        """The model's reply to a rendered template, as ``reply_type``; or an ``errors.ModelError``.

        Args:
            arriving: is told of the objects of the reply's list while it is on its way, as far as the model streams
                it. What it was told holds only if the reply says the same.
        """
        watched = watching(ListWatcher(arriving)) if arriving is not None else nullcontext()
        with watched:
            return await self.structured.ask(self.request(rendered, stage=stage, repeat=repeat), reply_type)

    def request(self, rendered: Rendered, *, stage: str, repeat: int = 0) -> Request:
        """The request that ``ask`` sends, its reply schema left to ``Structured``."""
        return Request(
            model=self.model.name,
            messages=rendered.messages,
            params=merged(self.model.params, self.defaults, repeat=repeat),
            template=rendered.fingerprint,
            repeat=repeat,
            api_base=self.model.api_base,
            backend=self.model.backend,
            stage=stage,
            label=self.model.label,
            key_env=self.model.key_env,
            price=self.model.price,
        )


def merged(params: Params, defaults: Params, *, repeat: int = 0) -> Params:
    """``params`` with what it leaves open taken from ``defaults``; a seed moves on with the repeat."""
    chosen = {**defaults.model_dump(exclude_defaults=True), **params.model_dump(exclude_defaults=True)}
    if "logprobs" in params.model_fields_set:
        chosen["logprobs"] = params.logprobs
    if chosen.get("seed") is not None:
        chosen["seed"] += repeat
    return Params.model_validate(chosen)


Item = TypeVar("Item")
Result = TypeVar("Result")

SMALLER_MAY_HELP = (ContextTooSmall, EmptyReply, Filtered, MalformedReply, TruncatedReply)
"""What a smaller question may mend: it was too long, or its reply of no use."""


async def map_requests(
    stage: str,
    label: str,
    items: Sequence[Item],
    ask: Callable[[Item], Awaitable[Result]],
    emit: Listener,
    *,
    default: Result,
) -> list[Result]:
    """``ask`` for each item, in order; an item that fails gives ``default`` and a notice.

    Raises:
        ModelError: of a kind that holds for the whole model (no key, unknown name, budget spent).
    """

    async def one(item: Item) -> Result:
        try:
            result = await ask(item)
        except ModelError as error:
            emit(StepDone(stage, label, error.reason))
            if error.model_wide:
                raise
            emit(_no_reply(stage, label, error))
            return default
        emit(StepDone(stage, label))
        return result

    if not items:
        return []
    with stage_events(emit, stage, {label: len(items)}):
        return await run_all(one, items)


async def map_batches(
    stage: str,
    label: str,
    items: Sequence[Item],
    ask: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
    emit: Listener,
    *,
    size: int,
    default: Result,
) -> list[Result]:
    """``ask`` for up to ``size`` items at once, a result for each in order.

    A batch whose reply cannot be read is asked for item by item; an item that fails gives ``default`` and a notice.

    Raises:
        ModelError: as ``map_requests``.
    """
    unread: list[Result] = []

    async def several(batch: Sequence[Item]) -> Sequence[Result]:
        try:
            return await ask(batch)
        except SMALLER_MAY_HELP:
            if len(batch) == 1:
                raise
            return unread

    async def one(item: Item) -> Result:
        return (await ask([item]))[0]

    batches = [items[start : start + size] for start in range(0, len(items), size)]
    replies = await map_requests(stage, label, batches, several, emit, default=None)
    alone = [item for batch, reply in zip(batches, replies, strict=True) if reply is unread for item in batch]
    single = iter(await map_requests(stage, label, alone, one, emit, default=default))
    return [
        next(single) if reply is unread else default if reply is None else reply[index]
        for batch, reply in zip(batches, replies, strict=True)
        for index in range(len(batch))
    ]


def _no_reply(stage: str, label: str, error: ModelError) -> Notice:
    return Notice(
        stored(
            "{stage}: {label} gave no usable reply ({reason}): {part}",
            stage=stage,
            label=label,
            reason=error.reason,
            part=error,
        ),
        "warning",
    )
