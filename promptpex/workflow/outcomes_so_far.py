"""Tells, while models and judges are still asked, which outputs break a rule, as soon as that is known of each.

An output that a check fails is known before any judge is asked. Of any other it is known when its last judge has
spoken, by the same weighing as at the end. What was told is taken back only where a judge was no longer asked: such an
output does not count, so that of what is cut short not only the failures are left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from promptpex.core.events import Listener, OutcomeKnown
from promptpex.core.records import NOT_ASKED, Output, OutputKey, Rule, Run, Spec, Verdict
from promptpex.judging.verdict_precedence import Quorum, after_broken, weigh
from promptpex.workflow.session import Session


class OutcomesSoFar:
    """What is known of the outputs of a run.

    Args:
        emit: is told of each.
        spec: tells which rules code decides wholly.
        rules: those that are in force.
        quorum, min_agreement: as in ``weigh``.
    """

    def __init__(
        self,
        emit: Listener,
        spec: Spec,
        rules: Sequence[Rule],
        *,
        quorum: Quorum,
        min_agreement: float | None,
    ) -> None:
        self._emit = emit
        self._spec = spec
        self._rules = rules
        self._asked: Sequence[int] = ()
        self._quorum: Quorum = quorum
        self._min_agreement = min_agreement
        self._known: dict[OutputKey, str] = {}
        self._by_code: dict[OutputKey, list[Verdict]] = defaultdict(list)
        self._judged: dict[OutputKey, list[list[list[Verdict]]]] = {}

    def code(self, verdicts: Iterable[Verdict]) -> None:
        """Takes in what code says; what it fails is known."""
        for verdict in verdicts:
            self._by_code[verdict.key].append(verdict)
            if verdict.status == "fail" and verdict.counts:
                self._tell(verdict.key, "fail")

    def early(self, output: Output, verdicts: Sequence[Verdict], *, is_all: bool) -> None:
        """Tells of an output what these verdicts of code come to, which are not kept.

        Args:
            is_all: whether no judge is going to be asked.
        """
        if is_all or output.error:
            weighed = weigh(self._spec, verdicts, [], quorum=self._quorum, min_agreement=self._min_agreement)
            self._tell(output.key, outcome_of(after_broken(self._rules, weighed)))
        elif any(verdict.status == "fail" and verdict.counts for verdict in verdicts):
            self._tell(output.key, "fail")

    def asking(self, asked: Sequence[int]) -> None:
        """Takes in how often judges are asked about each output, by the number of the judge."""
        self._asked = asked

    def judge(self, output: Output, judge: int, verdicts: list[Verdict]) -> None:
        """Takes in what a judge, by its number, says of an output in one turn."""
        heard = self._judged.setdefault(output.key, [[] for _ in self._asked])
        heard[judge].append(verdicts)
        if output.key in self._known or [len(turns) for turns in heard] != list(self._asked):
            return
        judged = [[verdict for turn in turns for verdict in turn] for turns in heard]
        by_code = self._by_code.get(output.key, [])
        weighed = weigh(self._spec, by_code, judged, quorum=self._quorum, min_agreement=self._min_agreement)
        self._tell(output.key, outcome_of(after_broken(self._rules, weighed)))

    def end(self, outputs: Iterable[Output], verdicts: Iterable[Verdict]) -> None:
        """Tells of all outputs that were not known before, or otherwise; these are all verdicts, weighed."""
        of_output: dict[OutputKey, list[Verdict]] = defaultdict(list)
        for verdict in verdicts:
            of_output[verdict.key].append(verdict)
        for output in outputs:
            self._tell(output.key, outcome_of(of_output[output.key]))

    def _tell(self, key: OutputKey, outcome: str) -> None:
        was = self._known.get(key)
        if was != outcome:
            self._known[key] = outcome
            self._emit(OutcomeKnown(key[1], outcome, was))


def outcomes_so_far(session: Session, run: Run) -> OutcomesSoFar:
    """Nothing told yet of the outputs of a run."""
    rules = [rule for rule in run.spec.rules if not rule.stale]
    quorum, min_agreement = session.settings.quorum, session.settings.min_agreement
    return OutcomesSoFar(session.emit, run.spec, rules, quorum=quorum, min_agreement=min_agreement)


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
