"""Tells, while models and judges are still asked, which outputs break a rule, as soon as that is known of each.

An output that a check fails is known before any judge is asked. Of any other it is known when its last judge has
spoken, by the same weighing as at the end. What was told is taken back only where a judge was no longer asked: such an
output does not count, so that of what is cut short not only the failures are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptpex.core.events import Listener, OutcomeKnown
from promptpex.core.outcomes import outcome_of
from promptpex.core.records import Output, Verdict


class OutcomesSoFar:
    """What is known of the outputs of a run, each called by its place among the run's records.

    Args:
        emit: is told of each.
    """

    def __init__(self, emit: Listener) -> None:
        self._emit = emit
        self._known: dict[int, str] = {}

    def code(self, place: int, verdicts: Iterable[Verdict]) -> None:
        """Takes in what code says of an output before judges do; a failure is known, anything else is not yet."""
        outcome = outcome_of(verdicts)
        if outcome.status == "fail":
            self._tell(place, outcome.deciding[0].model, outcome.status)

    def end(self, place: int, output: Output, verdicts: Sequence[Verdict]) -> None:
        """Tells of an output unless that was known before; these are all verdicts on it, weighed."""
        self._tell(place, output.model, outcome_of(verdicts, output.error).status)

    def _tell(self, place: int, model: str, outcome: str) -> None:
        was = self._known.get(place)
        if was != outcome:
            self._known[place] = outcome
            self._emit(OutcomeKnown(model, outcome, was))
