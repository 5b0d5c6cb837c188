"""What the verdicts on one output come to, for those who show a single result for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from promptpex.core.records import Verdict

OutputStatus = Literal["kept", "broken", "unscored"]


@dataclass(frozen=True, slots=True)
class OutputOutcome:
    """What became of an output.

    Attributes:
        status: whether it kept all rules that concern it, broke one, or could not be scored.
        code: why it is unscored, as a reason code; empty otherwise.
        deciding: the verdicts that it rests on; none of an output that kept all rules.
    """

    status: OutputStatus
    code: str = ""
    deciding: tuple[Verdict, ...] = ()


def outcome_of(verdicts: Iterable[Verdict]) -> OutputOutcome:
    """The outcome of an output, by the verdicts on it that count; one without verdicts is unscored."""
    counting = [verdict for verdict in verdicts if verdict.counts]
    if broken := tuple(verdict for verdict in counting if verdict.status == "fail"):
        return OutputOutcome("broken", deciding=broken)
    unscored = tuple(verdict for verdict in counting if verdict.status == "unscored")
    if unscored or not counting:
        return OutputOutcome("unscored", (unscored[0].unscored if unscored else None) or "no-judge", unscored)
    return OutputOutcome("kept")


def together(outcomes: Iterable[OutputOutcome]) -> OutputOutcome:
    """The outcome of several outputs as one: broken if one of them is, kept if all are."""
    every = list(outcomes)
    for status in ("broken", "unscored"):
        if those := [outcome for outcome in every if outcome.status == status]:
            deciding = tuple(verdict for outcome in those for verdict in outcome.deciding)
            return OutputOutcome(those[0].status, those[0].code, deciding)
    return OutputOutcome("kept")
