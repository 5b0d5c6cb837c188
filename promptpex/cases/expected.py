"""Expected outputs: a reference model answers each case, and judges say which answers are right.

Only an answer that they find right is kept as the expected output, with the model and the score; what they do not find
right is asked for again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Annotated

from pydantic import BaseModel, Field

from promptpex.codecs.text.inputs_as_text import inputs_text
from promptpex.codecs.text.wording import named
from promptpex.core.errors import ModelError
from promptpex.core.events import Listener, Notice, StepDone, ignore_events, stage_events
from promptpex.core.match_kinds import ASKED
from promptpex.core.records import Case, Output, Prompt, Spec, Suite
from promptpex.core.stage_templates import Rendered, render
from promptpex.core.translation import stored
from promptpex.engines import run_all
from promptpex.llm.model_in_role import RoleModel, map_requests
from promptpex.llm.schemas import REASON

TEMPLATE = "cases/expected"
STAGE = "reference"
SCORE_STAGE = "expected"
THRESHOLD = 0.8
"""Lowest median of the judges' scores (0..1) for an answer to count as right, unless another is given."""

RETRIES = 3
"""Times that the reference model is asked again where its answer was not good enough, unless told otherwise."""

LONG = 120
"""Characters of an expected output from which on it is seldom repeated word by word."""

Answer = Callable[[Case, int], Awaitable[Output]]
"""Asks the reference model about a case; the number is that of the try, from 0, each a fresh answer."""


class ScoreReply(BaseModel):
    """A judge's score for an answer: the reason first."""

    reason: Annotated[str, REASON]
    score: float = Field(ge=0, le=1)


@dataclass(frozen=True, slots=True)
class Expected:
    """What came of the attempt to find a case's expected output.

    Attributes:
        text: the expected output; None = there is none, and ``reason`` says why.
        score: median of the judges' scores, 0..1; None where no judge could be read.
        reason: why there is none, or the reason of the judge whose score is nearest to the median.
        scores: of each judge that could be read, by its label.
    """

    case: str
    text: str | None
    model: str
    score: float | None
    reason: str
    scores: tuple[tuple[str, float], ...] = ()
    tries: int = 1

    @property
    def source(self) -> str | None:
        """What the case's ``expected_from`` says."""
        return f"{self.model} ({self.score:.2f})" if self.text is not None and self.score is not None else None


def lacking(suite: Suite) -> list[Case]:
    """The usable cases of the machine that have no expected output yet; people's own are left as they are."""
    return [case for case in suite.usable() if case.expected is None and case.origin == "generated"]


async def expected_outputs(
    cases: Sequence[Case],
    answer: Answer,
    judges: Sequence[RoleModel],
    *,
    prompt: Prompt,
    spec: Spec,
    threshold: float = THRESHOLD,
    retries: int = RETRIES,
    instructions: str = "",
    emit: Listener = ignore_events,
) -> list[Expected]:
    """The reference answer to each case, if the median of the judges' scores reaches ``threshold``; in their order.

    Where it does not, the reference model is asked again, and the best answer counts.

    Args:
        judges: each scores every answer; a judge that cannot be read has no say, and more than half must have one.
        threshold: lowest median, 0..1.
        retries: times that a case is asked again; one without a score is not.

    Raises:
        ValueError: no judges.
        ModelError: of a kind that holds for a whole judge.
    """
    if not judges:
        raise ValueError("expected outputs need at least one judge")

    async def tried(some: Sequence[Case], attempt: int) -> list[Expected]:
        outputs = await _answers(some, answer, attempt, emit)
        replies = await _replies(some, outputs, judges, prompt, spec, instructions, emit)
        return [_scored(case, outputs[at], replies.get(at), threshold) for at, case in enumerate(some)]

    best = await tried(cases, 0)
    for attempt in range(1, 1 + retries):
        low = [at for at, result in enumerate(best) if result.text is None and result.score is not None]
        for at, result in zip(low, await tried([cases[at] for at in low], attempt), strict=True):
            best[at] = replace(max(best[at], result, key=_score_or_none), tries=attempt + 1)
    return best


def _score_or_none(result: Expected) -> float:
    """The score; below all others where there is none."""
    return -1.0 if result.score is None else result.score


async def _replies(
    cases: Sequence[Case],
    outputs: Sequence[Output],
    judges: Sequence[RoleModel],
    prompt: Prompt,
    spec: Spec,
    instructions: str,
    emit: Listener,
) -> dict[int, list[tuple[str, ScoreReply | None]]]:
    """What each judge says of each answer that there is, by the number of its case."""
    good = [index for index, output in enumerate(outputs) if output.error is None and output.text]
    pairs = [(cases[index], outputs[index]) for index in good]
    columns = [await _scores(judge, pairs, prompt, spec, instructions, emit) for judge in judges]
    return {
        index: [(judge.label, column[place]) for judge, column in zip(judges, columns, strict=True)]
        for place, index in enumerate(good)
    }


def with_expected(suite: Suite, results: Sequence[Expected], emit: Listener = ignore_events) -> Suite:
    """The suite with the expected outputs that were found; a case that has one, or is a person's, stays."""
    by_case = {result.case: result for result in results}
    open_cases = {case.id for case in lacking(suite)}

    def filled(case: Case) -> Case:
        result = by_case.get(case.id)
        if result is None or result.text is None or case.id not in open_cases:
            return case
        return case.replace(expected=result.text, expected_from=result.source, content=None)

    for result in results:
        if result.text is None:
            message = stored("expected: none for case {case}: {reason}", case=result.case, reason=result.reason)
            if result.tries > 1:
                message = stored(
                    "expected: none for case {case} after {count} answers: {reason}",
                    case=result.case,
                    count=result.tries,
                    reason=result.reason,
                )
            emit(Notice(message))
    long = [result.case for result in results if result.text is not None and len(result.text) > LONG]
    if long and not any(suite.match_of(case) == ASKED for case in suite.cases if case.id in long):
        message = stored(
            "expected: {ids}: long texts, which no model repeats word by word; `match: {match}` in the case file has a "
            "judge compare what they say",
            ids=named(long),
            match=ASKED,
        )
        emit(Notice(message))
    return suite.replace(cases=tuple(filled(case) for case in suite.cases))


def request_text(prompt: Prompt, spec: Spec, case: Case, output: Output, instructions: str = "") -> Rendered:
    """The rendered template that asks for a score."""
    return render(
        TEMPLATE,
        prompt=prompt.text(),
        rules=[rule for rule in spec.rules if not rule.stale],
        inputs=inputs_text(case.inputs),
        output=output.text or "",
        instructions=instructions,
    )


async def _answers(cases: Sequence[Case], answer: Answer, attempt: int, emit: Listener) -> list[Output]:
    if not cases:
        return []

    async def one(case: Case) -> Output:
        try:
            output = await answer(case, attempt)
        except ModelError as error:
            if error.model_wide:
                raise
            output = Output(case=case.id, model=error.model, error=error.reason, message=str(error))
        emit(StepDone(STAGE, output.model, output.error))
        return output

    with stage_events(emit, STAGE, {"": len(cases)}):
        return await run_all(one, cases)


async def _scores(
    judge: RoleModel,
    pairs: Sequence[tuple[Case, Output]],
    prompt: Prompt,
    spec: Spec,
    instructions: str,
    emit: Listener,
) -> list[ScoreReply | None]:
    async def ask(pair: tuple[Case, Output]) -> ScoreReply | None:
        rendered = request_text(prompt, spec, *pair, instructions)
        return (await judge.ask(rendered, ScoreReply, stage=SCORE_STAGE)).value

    nothing: ScoreReply | None = None
    return await map_requests(SCORE_STAGE, judge.label, pairs, ask, emit, default=nothing)


def _scored(
    case: Case, output: Output, replies: Sequence[tuple[str, ScoreReply | None]] | None, threshold: float
) -> Expected:
    if replies is None:
        why = output.message or output.error or stored("the answer is empty")
        why = stored("{model} gave no answer: {reason}", model=output.model, reason=why)
        return Expected(case.id, None, output.model, None, why)
    read = [(label, reply) for label, reply in replies if reply is not None]
    scores = tuple((label, reply.score) for label, reply in read)
    if len(read) * 2 <= len(replies):
        why = stored(
            "{count} of {number} judges could not be read", count=len(replies) - len(read), number=len(replies)
        )
        return Expected(case.id, None, output.model, None, why, scores)
    score = median(reply.score for _, reply in read)
    nearest = min(read, key=lambda one: abs(one[1].score - score))[1].reason.strip()
    if score < threshold:
        why = stored(
            "the score {score} is below {limit}: {said}", score=f"{score:.2f}", limit=f"{threshold:.2f}", said=nearest
        )
        return Expected(case.id, None, output.model, score, why, scores)
    return Expected(case.id, output.text, output.model, score, nearest, scores)
