"""Many small questions of one stage to one model, where one that fails does not end the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from promptpex.core.errors import ContextTooSmall, EmptyReply, Filtered, MalformedReply, ModelError, TruncatedReply
from promptpex.core.events import Listener, Notice, StepDone, stage_events
from promptpex.core.translation import stored
from promptpex.engines import run_all

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
