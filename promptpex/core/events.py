"""Typed events: what stages and the model layer report to listeners (progress bars, logs)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from promptpex.core.translation import ENGLISH, from_data, reading_in


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. Events carry no key, no header and no full prompt."""

    def to_dict(self) -> dict[str, Any]:
        return {"event": type(self).__name__, **asdict(self)}


@dataclass(frozen=True, slots=True)
class StageStarted(Event):
    """A stage begins: ``total`` steps, by ``model`` where it is one model's stage. see ``workflow.stages``."""

    stage: str
    total: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class StageEnded(Event):
    """A stage is over."""

    stage: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class StepDone(Event):
    """One step of a stage is done; ``error`` is the reason code if it gave no usable result."""

    stage: str
    model: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class OutcomeKnown(Event):
    """Whether an output of ``model`` breaks a rule is known: ``outcome`` is ``pass``, ``fail`` or ``unscored``; ``was``
    is what was told of the same output before, where a budget, a deadline or a stop has made that another."""

    model: str
    outcome: str
    was: str | None = None


@dataclass(frozen=True, slots=True)
class Sent(Event):
    """A request left for ``server``; without an answer within ``gives_up_s`` seconds it ends, or is tried again."""

    model: str
    stage: str
    request: str
    server: str
    gives_up_s: float


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """A request was answered: by a provider, or from the store (``cached``)."""

    model: str
    stage: str
    request: str
    cached: bool
    latency_ms: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """A request ended without an answer, after all retries."""

    model: str
    stage: str
    request: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Retrying(Event):
    """An attempt failed and another follows after ``wait_s`` seconds."""

    model: str
    request: str
    attempt: int
    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A message for people.

    Attributes:
        message: in English, as logs and manifests keep it.
        level: ``info``, ``warning``, or ``always``, which is shown with ``--quiet`` too.
        shown: the message in the reader's language, where it was not made by ``stored``.
    """

    message: str
    level: str = "info"
    shown: str = ""

    @classmethod
    def of(cls, words: Callable[[], str], level: str = "info") -> Notice:
        """The notice that says these words, which are made once in English and once in the reader's language."""
        with reading_in(ENGLISH):
            message = words()
        return cls(message, level, words())

    def text(self) -> str:
        return self.shown or from_data(self.message)

    def to_dict(self) -> dict[str, Any]:
        return {"event": type(self).__name__, "message": self.message, "level": self.level}


Listener = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """A listener that does nothing."""


def fan_out(listeners: Iterable[Listener]) -> Listener:
    """One listener that passes each event on to all of ``listeners``."""
    all_listeners = tuple(listeners)

    def emit(event: Event) -> None:
        for listener in all_listeners:
            listener(event)

    return emit


@contextmanager
def stage_events(emit: Listener, stage: str, totals: Mapping[str, int]) -> Iterator[None]:
    """Reports that a stage begins, and that it is over unless it fails; ``totals`` are the steps of each model."""
    for model, total in totals.items():
        emit(StageStarted(stage, total, model))
    yield
    for model in totals:
        emit(StageEnded(stage, model))
