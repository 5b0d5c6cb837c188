"""What all requests of a run share, wherever they are sent from: in its own process, or leased to workers."""

from __future__ import annotations

from dataclasses import dataclass

from promptpex.core.events import Listener, ignore_events
from promptpex.llm.meter import Meter
from promptpex.llm.pacing.budget import Reserving
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.first_request import FirstRequestGate
from promptpex.llm.pacing.server_queue import Slots


@dataclass(frozen=True, slots=True)
class Shared:
    """The limits, the budget, the stop and the listeners of a run.

    Attributes:
        cancel_token: stops all.
        meter: counts what is sent.
        slots: says when a request may be sent.
        budget: says whether it may be paid for.
        gate: which models may be asked by many at once.
        emit: is given the events.
    """

    cancel_token: CancelToken
    meter: Meter
    slots: Slots
    budget: Reserving
    gate: FirstRequestGate
    emit: Listener = ignore_events
