"""What the process of a run and its workers tell each other: plain records, which never hold a key.

A request says in which variable its key is (``key_env``); its value is looked up where it is asked. The records are
tuples, which are pickled in a tenth of the time that a frozen dataclass takes.
"""

from __future__ import annotations

from typing import NamedTuple

from promptpex.core.errors import ModelError, PromptpexError
from promptpex.core.events import Event
from promptpex.core.records import Completion, Request
from promptpex.llm.pacing.budget import NOTHING, Spending
from promptpex.llm.pacing.first_request import ModelAtServer


class Begin(NamedTuple):
    """To a worker, first of all: its number, and how many seconds of the run's time are over."""

    worker: int
    run_spent_s: float


class SentQuestion(NamedTuple):
    """To a worker: a request to answer, by its number in the run."""

    number: int
    request: Request


class Forget(NamedTuple):
    """To a worker: nobody waits for this request any more."""

    number: int


class Cancel(NamedTuple):
    """To a worker: the run is being stopped."""


class Granted(NamedTuple):
    """To a worker: it may send the request that it asked this lease for.

    Attributes:
        known: whether the model has been asked before, so that others need not wait for this one.
        sent_to: as in ``HeldSlot``.
        reserved: what is set aside of the budget.
        refusal: why the budget refuses the request after all; its slot is to be given back.
    """

    lease: int
    known: bool
    sent_to: str | None = None
    reserved: Spending = NOTHING
    refusal: ModelError | None = None


class Refused(NamedTuple):
    """To a worker: it may not send the request that it asked this lease for."""

    lease: int
    error: ModelError


class Ready(NamedTuple):
    """From a worker: what it needs is open."""


class SentAnswer(NamedTuple):
    """From a worker: what came of a request. An answer is in the store by now."""

    number: int
    outcome: Completion | PromptpexError


class Want(NamedTuple):
    """From a worker: it wants to send a request to a provider.

    Attributes:
        lease: the worker's number for it.
        number: the request that it is sent for.
        changed: the request as it is sent, where its messages or the servers that may answer it are others.
    """

    lease: int
    number: int
    changed: Request | None = None


class Withdraw(NamedTuple):
    """From a worker: this lease is not wanted any more, whether it was granted meanwhile or not."""

    lease: int


class Done(NamedTuple):
    """From a worker: it gives a lease back, and says what came of it.

    Attributes:
        took_s: seconds until the answer; None = there was none.
        tokens_in, tokens_out: as in ``Completion``.
        error: why there was no answer, without what the model wrote.
        used: what it took of the budget.
    """

    lease: int
    took_s: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    error: ModelError | None = None
    used: Spending = NOTHING


class ModelKnown(NamedTuple):
    """From a worker: this model may be asked by many at once."""

    who: ModelAtServer


class Left(NamedTuple):
    """From a worker: a request left for a provider. ``id`` and ``server`` as in ``Sent``."""

    number: int
    id: str
    server: str


class Happened(NamedTuple):
    """From a worker: an event."""

    event: Event
