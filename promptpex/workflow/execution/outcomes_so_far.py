"""Tells, while models and judges are still asked, which outputs break a rule, as soon as that is known of each.

An output that a check fails is known before any judge is asked. Of any other it is known when its last judge has
spoken, by the same weighing as at the end. What was told is taken back only where a judge was no longer asked: such an
output does not count, so that of what is cut short not only the failures are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptpex.core.events import Listener, OutcomeKnown
from promptpex.core.outcomes import outcome_of
from promptpex.core.records import Output, Rule, Run, Spec, Verdict
from promptpex.judging.verdict_precedence import Weights, after_broken
from promptpex.workflow.session import Session


class OutcomesSoFar:
    """What is known of the outputs of a run, each called by its place among the run's records.

    Args:
        emit: is told of each.
        weights: decide which verdicts count.
        rules: those that are in force.
    """

    def __init__(self, emit: Listener, weights: Weights, rules: Sequence[Rule]) -> None:
        self._emit = emit
        self._weights = weights
        self._rules = rules
        self._known: dict[int, str] = {}

    def code(self, place: int, verdicts: Iterable[Verdict]) -> None:
        """Takes in what code says of an output before judges do; a failure is known, anything else is not yet."""
        outcome = outcome_of(verdicts)
        if outcome.status == "fail":
            self._tell(place, outcome.deciding[0].model, outcome.status)

    def early(self, place: int, output: Output, verdicts: Sequence[Verdict], *, is_all: bool) -> None:
        """Tells of an output what these verdicts of code come to, which are not kept.

        Args:
            is_all: whether no judge is going to be asked.
        """
        if is_all or output.error:
            self.end(place, output, after_broken(self._rules, self._weights.weigh(verdicts, [])))
        else:
            self.code(place, verdicts)

    def end(self, place: int, output: Output, verdicts: Sequence[Verdict]) -> None:
        """Tells of an output unless that was known before; these are all verdicts on it, weighed."""
        self._tell(place, output.model, outcome_of(verdicts, output.error).status)

    def _tell(self, place: int, model: str, outcome: str) -> None:
        was = self._known.get(place)
        if was != outcome:
            self._known[place] = outcome
            self._emit(OutcomeKnown(model, outcome, was))


def outcomes_so_far(session: Session, run: Run) -> OutcomesSoFar:
    """Nothing told yet of the outputs of a run."""
    rules = [rule for rule in run.spec.rules if not rule.stale]
    return OutcomesSoFar(session.emit, weights_of(session, run.spec), rules)


def weights_of(session: Session, spec: Spec) -> Weights:
    """What decides which verdicts count, by the settings."""
    return Weights(spec, quorum=session.settings.quorum, min_agreement=session.settings.min_agreement)
