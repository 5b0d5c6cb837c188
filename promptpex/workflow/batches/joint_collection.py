"""Collecting the outputs of several prompts together: the prompts take turns, request by request.

A budget, a deadline or a stop so leaves each prompt about as many answers as any other, whatever the sizes of their
suites; a short suite is through first, and what it leaves goes to the others. Within a prompt the order is its own
(``workflow.order``), and its outputs are judged as they come, as in a single run.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self

from promptpex.core.events import Listener, StepDone, ignore_events, stage_events
from promptpex.core.records import Params, Prompt
from promptpex.core.time_allowance import Allowance
from promptpex.engines import for_each
from promptpex.llm.client import Client
from promptpex.promptfile import RENDERING_SECONDS
from promptpex.workflow.execution.collect import STAGE, Cell, Collect, Room, TakeOutput, answer_to, at_once
from promptpex.workflow.execution.order import ask_order, serial_server


@dataclass(slots=True)
class _Share:
    """What one prompt asks."""

    client: Client
    prompt: Prompt
    questions: Sequence[Cell]
    defaults: Params
    order: Sequence[int]
    emit: Listener
    on_output: TakeOutput
    room: Room
    done: asyncio.Future[None]
    time: Allowance = field(default_factory=lambda: Allowance(RENDERING_SECONDS))


class JointCollection:
    """Collects when every prompt has said what it asks, or has left.

    Args:
        prompts: how many there are, each known by its number from 0.
        emit: is told of the stage, which is one of all prompts.
    """

    def __init__(self, prompts: int, emit: Listener = ignore_events) -> None:
        self._awaited = set(range(prompts))
        self._emit = emit
        self._shares: dict[int, _Share] = {}
        self._asking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking

    def of(self, prompt: int) -> Collect:
        """How the prompt of this number collects its outputs, once."""
        return partial(self._collect, prompt)

    def leave(self, prompt: int) -> None:
        """The prompt of this number will not ask, or has done so."""
        self._awaited.discard(prompt)
        if not self._awaited and self._shares and self._asking is None:
            self._asking = asyncio.create_task(self._ask_all())

    async def _collect(
        self,
        number: int,
        client: Client,
        prompt: Prompt,
        questions: Sequence[Cell],
        *,
        defaults: Params = Params(),
        order: Sequence[int] | None = None,
        emit: Listener = ignore_events,
        on_output: TakeOutput,
        room: Room = at_once,
    ) -> None:
        collected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        in_order = range(len(questions)) if order is None else order
        share = _Share(client, prompt, questions, defaults, in_order, emit, on_output, room, collected)
        self._shares[number] = share
        self.leave(number)
        await collected

    async def _ask_all(self) -> None:
        """Tells every prompt when it has its outputs, or the error that ended the asking."""
        shares = [self._shares[prompt] for prompt in sorted(self._shares)]

        async def ask(asked: tuple[int, int]) -> None:
            share = shares[asked[0]]
            await share.room(share.questions[asked[1]].model)
            output = await answer_to(share.client, share.prompt, share.questions[asked[1]], share.defaults, share.time)
            share.emit(StepDone(STAGE, output.model, output.error))
            share.on_output(asked[1], output)

        try:
            with stage_events(self._emit, STAGE, Counter(one.model.label for each in shares for one in each.questions)):
                await for_each(ask, joint_order([(each.questions, each.order) for each in shares]))
        except Exception as error:
            for share in shares:
                if not share.done.done():
                    share.done.set_exception(error)
            return
        for share in shares:
            if not share.done.done():
                share.done.set_result(None)


def joint_order(every: Sequence[tuple[Sequence[Cell], Sequence[int]]]) -> list[tuple[int, int]]:
    """Prompt and question by their numbers, in the order in which to ask: a question of each prompt in turn; of servers
    that load one model at a time, model by model.

    Args:
        every: of each prompt its questions, and the order in which it would ask them alone.
    """
    models = {label: number for number, label in enumerate(dict.fromkeys(_labels(every)))}
    servers = {one.model.label: serial_server(one.model) for questions, _ in every for one in questions}
    turns_asked: list[tuple[int, int]] = []
    places: list[tuple[tuple[int, ...], int, str | None]] = []
    for prompt, (questions, order) in enumerate(every):
        turns: Counter[str | None] = Counter()
        for number in order:
            label = questions[number].model.label
            server = servers[label]
            turns_asked.append((prompt, number))
            places.append(((turns[server], prompt), models[label], server))
            turns[server] += 1
    return [turns_asked[place] for place in ask_order(places)]


def _labels(every: Sequence[tuple[Sequence[Cell], Sequence[int]]]) -> list[str]:
    return [one.model.label for questions, _ in every for one in questions]
