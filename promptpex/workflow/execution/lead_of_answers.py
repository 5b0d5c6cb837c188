"""How far answers may run ahead of verdicts: so that whatever ends a run, most of its answers are judged."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from promptpex.core.records import ModelName
from promptpex.judging.judge import STAGE as JUDGE
from promptpex.judging.judge import Judge
from promptpex.llm.pacing.budget import Spending
from promptpex.llm.pacing.cancellation import Changes
from promptpex.workflow.execution.collect import STAGE as OUTPUT
from promptpex.workflow.session import Session

PARTS, LEAST = 4, 16
"""Into how many parts the outputs of a model are divided where its server loads one model at a time, and has to change
between the model and the judge for each; and the fewest outputs of a part."""

ROUNDS = 3
"""Times the concurrency that answers under way and verdicts waited for may be, and once more for each judge: all slots
of the model and of the judges stay taken, with a round of each to spare."""

FIRST = 8
"""Outputs that may be asked for before it is known what a verdict takes, where tokens or dollars are limited."""


class LeadOfAnswers:
    """Holds answers back while judges have enough to do, and so that a budget lasts for the verdicts on them.

    What verdicts will take is reckoned by what those so far took. Outputs of other prompts of the same command are
    taken to be as many as those of this one.

    Args:
        session: has the budget, and counts what requests take.
        judges: all are asked about every output.
        outputs_of_model: how many outputs each model has, where a judge shares a server that loads one model at a time.
    """

    def __init__(self, session: Session, judges: Sequence[Judge], *, outputs_of_model: int | None = None) -> None:
        self._session, self._judges = session, len(judges)
        self._requests = sum(len(judge.questions({})) for judge in judges)
        self._most = (ROUNDS + len(judges)) * session.settings.concurrency
        if outputs_of_model is not None:
            self._most = max(LEAST, math.ceil(outputs_of_model / PARTS))
        self._under_way = Counter[str]()
        self._outputs = self._questions = self._due = 0
        self._ended = False
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changes = Changes()

    async def room(self, model: ModelName) -> None:
        """Waits until one more output of the model may be asked for."""
        if not self._judges:
            return
        async with self._turns[model.label]:
            while not self._ended and (self._ahead_of(model.label) >= self._most or not self._lasts()):
                await self._changes.wait()
            self._under_way[model.label] += 1
            self._outputs += 1

    def _ahead_of(self, model: str) -> int:
        return self._under_way[model] + self._due + self._questions

    def end(self) -> None:
        """Nobody judges any more: nobody waits."""
        self._ended = True
        self._changes.announce()

    def answered(self, model: str, *, due: int) -> None:
        """An output is in, and so many may be looked at now."""
        self._under_way[model] -= 1
        self._due += due
        self._changes.announce()

    def looked_at(self, outputs: int) -> None:
        """Code has looked at so many outputs, and it is known which judges are asked about them."""
        self._outputs -= outputs
        self._due -= outputs
        self._changes.announce()

    def asks(self, questions: int) -> None:
        """So many more questions to judges are under way; fewer where it is negative."""
        self._questions += questions
        self._changes.announce()

    def _lasts(self) -> bool:
        """Whether the budget has room for an output and the verdicts on it, or nothing comes any more that makes it."""
        budget, outputs = self._session.client.budget, self._outputs + 1
        if budget.unlimited or self._outputs + self._questions <= 0:
            return True
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
