"""Tells, while models and judges are still asked, which outputs break a rule, as soon as that is known of each.

An output that a check fails is known before any judge is asked. Of any other it is known when its last judge has
spoken, by the same weighing as at the end. What was told is taken back only where a judge was no longer asked: such an
output does not count, so that of what is cut short not only the failures are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptpex.core.events import Listener, OutcomeKnown
from promptpex.core.records import NOT_ASKED, Output, Rule, Run, Spec, Verdict
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
        """Takes in what code says of an output; what it fails is known."""
        for verdict in verdicts:
            if verdict.status == "fail" and verdict.counts:
                self._tell(place, verdict.model, "fail")

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
        self._tell(place, output.model, outcome_of(verdicts))

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


def outcome_of(verdicts: Sequence[Verdict]) -> str:
    """What the verdicts on one output come to, as in ``tables.row_verdicts``: unscored where a judge was no longer
    asked, else ``fail`` where a verdict that counts fails, else unscored where one could not judge or none counts."""
    counting = [verdict for verdict in verdicts if verdict.counts]
    joint = {verdict.rule for verdict in counting if verdict.source.startswith("judges:")}
    deciding = (verdict for verdict in verdicts if not verdict.turn and (verdict.counts or verdict.rule in joint))
    if any(verdict.unscored in NOT_ASKED for verdict in deciding):
        return "unscored"
    statuses = {verdict.status for verdict in counting}
    if "fail" in statuses:
        return "fail"
    return "unscored" if "unscored" in statuses or not statuses else "pass"
