"""Tells, while outputs are still asked for, which of those that are in pass and fail, as far as code can say.

This is for progress alone: all outputs are checked once more when they are in, as if nothing had been checked before.
So it may be slow, leave outputs out, or not happen at all. It shares the event loop with the answers that are waited
for; it begins after some seconds, takes a small part of the time, and stops where a single output takes long.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from promptpex.codecs.record_spool import RecordSpool
from promptpex.core.errors import PromptpexError
from promptpex.core.records import Output, OutputKey, Run, Verdict
from promptpex.engines import LocalEngine
from promptpex.workflow.client_options import NO_JUDGE
from promptpex.workflow.execution.check_questions import checking
from promptpex.workflow.execution.judges import judging
from promptpex.workflow.execution.outcomes_so_far import OutcomesSoFar
from promptpex.workflow.execution.verdicts_of_code import verdicts_of_code
from promptpex.workflow.session import Session

BEGINS_S = 2.0
"""Seconds before the first output is checked: what ends sooner needs no progress."""
BATCH_S = 0.05
"""Seconds that checking is to take at a time, while answers wait to be read."""
PART = 0.05
"""The part of the time that checking takes at most, of all prompts of a session together."""
TOO_LONG_S = 0.5
"""Seconds that one output may take; where it takes longer, the others wait until all are in."""


@asynccontextmanager
async def early_outcomes(
    session: Session, run: Run, outputs: RecordSpool[Output], known: OutcomesSoFar, *, begins_s: float = BEGINS_S
) -> AsyncIterator[Callable[[int, Output], None]]:
    """A function that takes each output as it comes; ``known`` is told of them while the context is open.

    Args:
        outputs: where those are that the function was given, by their places.
        begins_s: seconds before the first output is checked.
    """
    waiting = deque[int]()

    def add(place: int, output: Output) -> None:
        if output.error:
            known.early(place, output, (), is_all=True)
        else:
            waiting.append(place)

    task = asyncio.create_task(_check(session, run, outputs, known, waiting, begins_s))
    try:
        yield add
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _check(
    session: Session,
    run: Run,
    outputs: RecordSpool[Output],
    known: OutcomesSoFar,
    waiting: deque[int],
    begins_s: float,
) -> None:
    await asyncio.sleep(begins_s)
    needs_judges, size = _asked_of_judges(session, run), 1
    while True:
        places, began = [waiting.popleft() for _ in range(min(size, len(waiting)))], time.perf_counter()
        if not places:
            await asyncio.sleep(BATCH_S)
            continue
        batch = [output for place in places for output in outputs.at(place)]
        try:
            verdicts = await _by_code(session, run, needs_judges, batch)
        except PromptpexError:
            return  # a check that cannot be used: whoever checks all outputs says so
        for place, output in zip(places, batch, strict=True):
            known.early(place, output, verdicts[output.key], is_all=not needs_judges)
        took = time.perf_counter() - began
        if size == 1 and took > TOO_LONG_S:
            return
        size = max(1, min(2 * size, int(len(batch) * BATCH_S / took)))
        await asyncio.sleep(max(BATCH_S, took) * (session.prompts / PART - 1))


async def _by_code(
    session: Session, run: Run, asked: frozenset[str], outputs: Sequence[Output]
) -> dict[OutputKey, list[Verdict]]:
    rules = [rule for rule in run.spec.rules if not rule.stale]
    check = checking(LocalEngine(), rules)
    code = await verdicts_of_code(session, check, run.prompt, rules, run.suite, outputs)
    verdicts: dict[OutputKey, list[Verdict]] = defaultdict(list)
    for verdict in code.weighable(asked):
        verdicts[verdict.key].append(verdict)
    return verdicts


def _asked_of_judges(session: Session, run: Run) -> frozenset[str]:
    """The rules that judges are going to be asked about, if the run has any."""
    if session.settings.judge == (NO_JUDGE,):
        return frozenset()
    return frozenset(rule.id for rule in judging(session.settings, run.prompt).rules(run.spec))
