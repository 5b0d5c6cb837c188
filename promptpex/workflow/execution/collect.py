"""Collecting outputs: every case is sent to every model under test; each answer is a text or a named error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from promptpex.core.errors import InputError, ModelError
from promptpex.core.events import Listener, StepDone, ignore_events, stage_events
from promptpex.core.records import Case, Completion, ModelName, Output, Params, Prompt, Request
from promptpex.core.time_allowance import Allowance
from promptpex.engines import for_each
from promptpex.llm.client import Client
from promptpex.llm.model_in_role import merged
from promptpex.llm.structured import usable
from promptpex.promptfile import RENDERING_SECONDS, render

STAGE = "output"
_MEASURED = (Completion.model_fields.keys() & Output.model_fields.keys()) - {"text"}
"""The fields of a completion that an output keeps, apart from the text."""

TakeOutput = Callable[[int, Output], None]
"""Is given an output with the number of its question, as it comes."""

Room = Callable[[ModelName], Awaitable[None]]
"""Waits until a further question may be asked of a model."""


async def at_once(model: ModelName) -> None:
    """No wait."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One question: a case, a model, a repeat."""

    case: Case
    model: ModelName
    repeat: int


def cells(cases: Sequence[Case], models: Sequence[ModelName], repeats: int) -> list[Cell]:
    """All questions in the order of the results: model by model, then repeat by repeat, then as in the suite."""
    return [Cell(case, model, repeat) for model in models for repeat in range(repeats) for case in cases]


def request_for(prompt: Prompt, cell: Cell, defaults: Params, time: Allowance | None = None) -> Request:
    """The request of a cell; ``time`` is that of rendering the prompt in all (``promptfile.render``).

    Raises:
        InputError: the prompt cannot be rendered with the case's inputs.
    """
    return Request(
        model=cell.model.name,
        messages=render(prompt, cell.case.inputs, time),
        params=merged(cell.model.params, defaults, repeat=cell.repeat),
        repeat=cell.repeat,
        api_base=cell.model.api_base,
        backend=cell.model.backend,
        stage=STAGE,
        label=cell.model.label,
        key_env=cell.model.key_env,
        price=cell.model.price,
    )


def requests_for(prompt: Prompt, questions: Sequence[Cell], defaults: Params) -> Iterator[Request]:
    """The requests of the cells; those that cannot be rendered, which is their output's error, are left out."""
    time = Allowance(RENDERING_SECONDS)
    for question in questions:
        with suppress(InputError):
            yield request_for(prompt, question, defaults, time)


class Collect(Protocol):
    """A way to collect outputs, such as ``collect``, which says what the arguments are."""

    async def __call__(
        self,
        client: Client,
        prompt: Prompt,
        questions: Sequence[Cell],
        *,
        defaults: Params = ...,
        order: Sequence[int] | None = ...,
        emit: Listener = ...,
        on_output: TakeOutput,
        room: Room = ...,
    ) -> None: ...


async def collect(
    client: Client,
    prompt: Prompt,
    questions: Sequence[Cell],
    *,
    defaults: Params = Params(),
    order: Sequence[int] | None = None,
    emit: Listener = ignore_events,
    on_output: TakeOutput,
    room: Room = at_once,
    rendering: Allowance | None = None,
) -> None:
    """An output for every question: ``on_output`` is given each as it comes, with the number of its question.

    They are asked in ``order``, a list of their numbers, by default as given; ``room`` is awaited before each. Once
    rendering the prompts has taken longer than ``rendering`` allows, the rest is not asked.

    An answer that is empty, cut off, filtered or missing is an output with the reason in ``error``; one model's
    failure never ends another's requests.
    """
    rendering = rendering or Allowance(RENDERING_SECONDS)

    async def answer(number: int) -> None:
        await room(questions[number].model)
        output = await answer_to(client, prompt, questions[number], defaults, rendering)
        emit(StepDone(STAGE, output.model, output.error))
        on_output(number, output)

    with stage_events(emit, STAGE, Counter(question.model.label for question in questions)):
        await for_each(answer, range(len(questions)) if order is None else order)


async def answer_to(client: Client, prompt: Prompt, question: Cell, defaults: Params, time: Allowance) -> Output:
    """The output of one question; ``time`` is that of rendering the prompt in all."""
    request: Request | None = None
    completion: Completion | None = None
    try:
        request = request_for(prompt, question, defaults, time)
        completion = await client.complete(request)
        text = usable(completion, question.model.label)
        return _output(question, request, completion, text=text)
    except ModelError as error:
        answer_text = completion.text if completion is not None else error.reply
        return _output(question, request, completion, text=answer_text, error=error.reason, message=str(error))
    except InputError as error:
        return _output(question, request, None, error="bad-input", message=str(error))


def _output(
    question: Cell,
    asked: Request | None,
    completion: Completion | None,
    *,
    text: str | None = None,
    error: str | None = None,
    message: str | None = None,
) -> Output:
    measured = {name: getattr(completion, name) for name in _MEASURED} if completion is not None else {}
    return Output(
        case=question.case.id,
        model=question.model.label,
        repeat=question.repeat,
        text=text,
        error=error,
        message=message,
        request=asked.id if asked is not None else None,
        **measured,
    )
