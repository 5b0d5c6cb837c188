"""What was sent to a model and what came back, as a file of another tool recorded it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from promptpex.core.records import Message, Output
from promptpex.interchange.notes import Note
from promptpex.interchange.reading.foreign_files import At
from promptpex.llm.redaction import scrub

_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """What a model answered, or that it gave no answer; amounts as in ``Output``."""

    text: str | None
    model: str = ""
    message: str | None = None
    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None

    def output(self, case: str, repeat: int) -> Output:
        """It as an output to a case."""
        return Output(
            case=case,
            model=label(self.model),
            repeat=repeat,
            text=self.text,
            error=None if self.text is not None else "error",
            message=None if self.text is not None else scrub(self.message or "there is no output")[:500],
            finish_reason=self.finish_reason,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd,
            latency_ms=self.latency_ms,
        )


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request as a file has it.

    Attributes:
        messages: what was sent; empty where the file has the inputs alone.
        answers: what came back; of several the order is that of repeats.
        name: what the file calls it.
        expected: the right outputs, the best first.
    """

    at: At
    messages: tuple[Message, ...] = ()
    inputs: Mapping[str, object] = field(default_factory=dict)
    answers: tuple[RecordedAnswer, ...] = ()
    name: str = ""
    expected: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(message.role for message in self.messages)


@dataclass(frozen=True, slots=True)
class Recorded:
    """All requests of a file, and what was noted while they were read."""

    exchanges: tuple[Exchange, ...]
    notes: tuple[Note, ...] = ()


class Ids:
    """Ids for cases, no two the same."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def free(self, wanted: str, default: str, *, longest: int = 60) -> str:
        """An id like the wanted one that is not taken; it is from now on."""
        return self.numbered(_NOT_AN_ID.sub("-", wanted).strip("-")[:longest] or default)

    def numbered(self, stem: str) -> str:
        """This id, with a number where it is taken; it is from now on. However many are alike, it looks once."""
        name, again = stem, self._next.get(stem, 2)
        while name in self._taken:
            name, again = f"{stem}-{again}", again + 1
        self._next[stem] = again
        self._taken.add(name)
        return name


def label(model: str) -> str:
    return " ".join(model.split())[:_LONGEST_NAME] or "unknown"


def count(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def amount(value: object) -> float | None:
    """The value as an amount of money or time, where it is one."""
    if isinstance(value, str) and len(value) < 40:
        try:
            value = float(value)
        except ValueError:
            return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return float(value) if is_number and isinstance(value, int | float) else None
