"""How a budget is shared: an output is asked for while the budget lasts for the verdicts on it as well."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from promptpex.judging.judge import STAGE as JUDGE
from promptpex.judging.judge import Judge
from promptpex.llm.pacing.budget import Spending
from promptpex.llm.pacing.changes import Changes
from promptpex.workflow.execution.collect import STAGE as OUTPUT
from promptpex.workflow.session import Session

FIRST = 8
"""Outputs that may be asked for before it is known what a verdict takes, where tokens or dollars are limited."""


class BudgetForVerdicts:
    """Holds answers back, so that a budget is not spent before they are judged.

    What verdicts will take is reckoned by what those so far took. Outputs of other prompts of the same command are
    taken to be as many as those of this one.

    Args:
        session: has the budget, and counts what requests take.
        judges: all are asked about every output.
    """

    def __init__(self, session: Session, judges: Sequence[Judge]) -> None:
        self._session, self._judges = session, len(judges)
        self._requests = sum(len(judge.questions({})) for judge in judges)
        self._outputs = self._questions = 0
        self._turn, self._changes = asyncio.Lock(), Changes()

    async def room(self) -> None:
        """Waits until there is room for an output and the verdicts on it, or nothing more comes that would make any."""
        if self._session.client.budget.unlimited or not self._judges:
            return
        async with self._turn:
            while self._outputs + self._questions > 0 and not self._lasts():
                await self._changes.wait()
            self._outputs += 1

    def looked_at(self, outputs: int) -> None:
        """So many outputs are in, and it is known which judges are asked about them."""
        self._outputs -= outputs
        self._changes.announce()

    def asks(self, questions: int) -> None:
        """So many more questions to judges are under way; fewer where it is negative."""
        self._questions += questions
        self._changes.announce()

    def _lasts(self) -> bool:
        budget, outputs = self._session.client.budget, self._outputs + 1
        answer, verdict = self._average(OUTPUT) or Spending(1), self._average(JUDGE)
        if verdict is None and not budget.counts_requests_alone:
            return outputs + self._questions <= FIRST
        verdicts = outputs * self._requests + self._questions * self._requests / self._judges
        due = answer.times(outputs).plus((verdict or Spending(1)).times(verdicts))
        return budget.has_room_for(due.times(self._session.prompts))

    def _average(self, stage: str) -> Spending | None:
        """What an answered request of a stage took; None before the first."""
        totals = [each for (name, _), each in self._session.meter.totals.items() if name == stage]
        answered = sum(each.requests for each in totals)
        tokens = sum(each.tokens_in + each.tokens_out for each in totals)
        cost = sum(each.cost_usd for each in totals)
        return Spending(answered, tokens, cost).times(1 / answered) if answered else None
