"""The one definition of what the verdicts on an output, and on each of its rules, come to.

Progress, reports for CI, tests of pytest and report cards ask here. Tables decide the same in SQL
(``tables.database_sql``), and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from promptpex.core.records import NOT_ASKED, NOT_CONCERNED, Status, Verdict

OutputStatus = Literal["pass", "fail", "unscored"]

HEAVIEST_FIRST: tuple[Status, ...] = ("fail", "unscored", NOT_CONCERNED, "pass")
"""Of several verdicts on a rule that count, the one with the first of these decides."""


@dataclass(frozen=True, slots=True)
class OutputOutcome:
    """What became of an output.

    Attributes:
        status: ``fail`` where it breaks a rule, ``pass`` where it keeps all that concern it, else ``unscored``.
        code: why it is unscored, as a reason code; empty otherwise.
        asked: whether it was asked for and judged as far as it could be; else it says nothing about its model.
        deciding: the verdicts that it rests on; none of an output that passes.
    """

    status: OutputStatus
    code: str = ""
    asked: bool = True
    deciding: tuple[Verdict, ...] = ()


def outcome_of(verdicts: Iterable[Verdict], error: str | None = None) -> OutputOutcome:
    """The outcome of an output.

    Unscored where a judge was no longer asked that should have been, whatever code says: of such outputs those that
    code fails would be left alone, and a share of them would be no estimate. Else fail where a verdict that counts
    fails, else unscored where one could not judge or none counts, else pass, whether its rules are kept or do not
    concern it.
    """
    every = list(verdicts)
    counting = [verdict for verdict in every if verdict.counts]
    asked = error not in NOT_ASKED
    if cut := tuple(not_asked(every)):
        return OutputOutcome("unscored", cut[0].unscored or "", asked=False, deciding=cut)
    if broken := tuple(verdict for verdict in counting if verdict.status == "fail"):
        return OutputOutcome("fail", asked=asked, deciding=broken)
    unscored = tuple(verdict for verdict in counting if verdict.status == "unscored")
    if unscored or not counting:
        code = (unscored[0].unscored if unscored else None) or error or "no-judge"
        return OutputOutcome("unscored", code, asked, unscored)
    return OutputOutcome("pass", asked=asked)


def not_asked(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those that would have decided a rule, alone or among several judges, had they been asked for; on as many outputs
    as there are."""
    cut = [one for one in verdicts if one.unscored in NOT_ASKED and not one.turn]
    if not cut:
        return cut
    joint = {(one.key, one.rule) for one in verdicts if one.counts and one.source.startswith("judges:")}
    return [one for one in cut if one.counts or (one.key, one.rule) in joint]


def decided_rules(verdicts: Iterable[Verdict]) -> dict[str, Verdict]:
    """By the id of each rule that a verdict on an output decides, that verdict: of several that count the heaviest,
    and of those the first."""
    deciding: dict[str, Verdict] = {}
    for verdict in verdicts:
        known = deciding.get(verdict.rule)
        if verdict.counts and (known is None or _weight(verdict) < _weight(known)):
            deciding[verdict.rule] = verdict
    return deciding


def _weight(verdict: Verdict) -> int:
    return HEAVIEST_FIRST.index(verdict.status)


def together(outcomes: Iterable[OutputOutcome]) -> OutputOutcome:
    """The outcome of several outputs as one: fail if one of them does, pass if all do."""
    every = list(outcomes)
    asked = all(outcome.asked for outcome in every)
    for status in ("fail", "unscored"):
        if those := [outcome for outcome in every if outcome.status == status]:
            deciding = tuple(verdict for outcome in those for verdict in outcome.deciding)
            return OutputOutcome(those[0].status, those[0].code, asked, deciding)
    return OutputOutcome("pass", asked=asked)
