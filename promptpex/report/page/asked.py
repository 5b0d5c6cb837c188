"""What was asked in a case, as the page shows it: the inputs by their names, and the messages that models were sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.core.records import Case, Message
from promptpex.report.page.values import pretty

SentMessages = Callable[[Mapping[str, Any]], Sequence[Message]]
"""The messages that a model is sent for a case's inputs; none where they cannot be rendered."""

MOST_SENT = 4_000_000
"""Characters of messages on the page: those of the cases that come first; what is left out is said there."""

MOST_RENDERED = 2_000
"""Cases whose messages are on the page."""

Inputs = tuple[tuple[str, str], ...]
"""The names and texts of inputs, in the order of the case."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The inputs of a case and, where the page has room for them, the messages that models were sent."""

    inputs: Inputs
    sent: tuple[Message, ...] = ()


def named_inputs(case: Case) -> Inputs:
    """The inputs of a case: a text as it is, everything else as JSON."""
    return tuple((name, pretty(value)) for name, value in case.inputs.items())


def all_asked(cases: Iterable[Case], order: Sequence[str], sent: SentMessages | None) -> Mapping[str, Asked]:
    """What was asked in these cases, by their ids; ``order`` are the ids of those on the page, the first of which have
    their messages."""
    cases_by_id = {case.id: case for case in cases}
    messages = dict(_within_bounds(cases_by_id, order, sent)) if sent is not None else {}
    return {name: Asked(named_inputs(case), messages.get(name, ())) for name, case in cases_by_id.items()}


def _within_bounds(
    cases: Mapping[str, Case], order: Sequence[str], sent: SentMessages
) -> Iterator[tuple[str, tuple[Message, ...]]]:
    room = MOST_SENT
    for name in order[:MOST_RENDERED]:
        messages = tuple(sent(cases[name].inputs)) if name in cases else ()
        room -= sum(len(message.content) for message in messages)
        if room < 0:
            return
        yield name, messages
