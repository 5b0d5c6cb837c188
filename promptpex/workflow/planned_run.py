"""A run whose suite is known, before anything is asked: what estimates count its requests from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from promptpex.core.records import Completion, Output, Prompt, Request, Spec, Suite
from promptpex.core.time_allowance import Allowance
from promptpex.promptfile import RENDERING_SECONDS
from promptpex.workflow.execution.collect import Cell, cells, request_for
from promptpex.workflow.output_params import output_params
from promptpex.workflow.session import Session
from promptpex.workflow.stages.stage import TYPICAL_ANSWER


@dataclass(frozen=True)
class PlannedRun:
    """A run whose suite is known, before anything is asked.

    Attributes:
        session, prompt, spec, suite: what it would be made with.
        requests: for outputs, each with its case, model and repeat.
        replies: those to them that the store holds, by the ids of the requests.
    """

    session: Session
    prompt: Prompt
    spec: Spec
    suite: Suite
    requests: Sequence[tuple[Cell, Request]]
    replies: Mapping[str, Completion]

    @cached_property
    def stored(self) -> list[Output]:
        """The outputs that the store holds."""
        return [
            _output(cell, self.replies[request.id].text)
            for cell, request in self.requests
            if request.id in self.replies
        ]

    @cached_property
    def missing(self) -> list[Output]:
        """An output of typical length for each that is still to be asked for."""
        text = "x" * 4 * TYPICAL_ANSWER
        return [_output(cell, text) for cell, request in self.requests if request.id not in self.replies]

    @property
    def outputs(self) -> list[Output]:
        """All outputs: those of the store first."""
        return [*self.stored, *self.missing]


async def plan_run(session: Session, prompt: Prompt, spec: Spec, suite: Suite) -> PlannedRun:
    """The run of these, with what the store holds of it."""
    defaults, time = output_params(session, prompt, spec), Allowance(RENDERING_SECONDS)
    asked = cells(suite.usable(), session.roles.models(), session.settings.repeats)
    requests = [(cell, request_for(prompt, cell, defaults, time)) for cell in asked]
    replies = await session.store.get_many(request.id for _, request in requests)
    return PlannedRun(session, prompt, spec, suite, requests, replies)


def _output(cell: Cell, text: str | None) -> Output:
    return Output(case=cell.case.id, model=cell.model.label, repeat=cell.repeat, text=text)
