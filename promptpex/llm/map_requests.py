"""Many small questions of one stage to one model, where one that fails does not end the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from promptpex.core.errors import ModelError
from promptpex.core.events import Listener, Notice, StageEnded, StageStarted, StepDone
from promptpex.engines import run_all

Item = TypeVar("Item")
Result = TypeVar("Result")


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
            emit(Notice(f"{stage}: {label} gave no usable reply ({error.reason}): {error}", "warning"))
            return default
        emit(StepDone(stage, label))
        return result

    if not items:
        return []
    emit(StageStarted(stage, len(items), label))
    results = await run_all(one, items)
    emit(StageEnded(stage, label))
    return results
