"""Yes-or-no questions about outputs: checks put them, a judge answers (SPADE, arXiv 2401.03038, section 3.2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel

from promptpex.core.errors import ModelError
from promptpex.core.events import Listener, StepDone, stage_events
from promptpex.core.ids import digest
from promptpex.core.judge_questions import MAX_QUESTIONS, Answers, JudgeAnswer
from promptpex.core.records import CUT, NOT_ASKED, Request
from promptpex.core.stage_templates import Rendered, fingerprint, render
from promptpex.engines import run_all
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.schemas import REASON, reply_schema

TEMPLATE = "judging/question"
STAGE = "question"

Item = TypeVar("Item")
Result = TypeVar("Result")


class QuestionReply(BaseModel):
    """A judge's answer: what decides it, then yes or no."""

    reason: Annotated[str, REASON]
    answer: Literal["yes", "no"]


@dataclass(frozen=True, slots=True)
class QuestionJudge:
    """The judge that answers questions of checks.

    Attributes:
        role_model: who is asked.
        instructions: the owner's note.
    """

    role_model: RoleModel
    instructions: str = ""

    async def answer(self, prompt: str, response: str, question: str) -> JudgeAnswer:
        """Yes or no; a missing answer where the judge cannot be asked or cannot be read.

        Args:
            prompt: what the model was sent, as one text; empty where that is unknown.
            response: what it answered.
        """
        label, mark = self.role_model.label, self.fingerprint()
        try:
            rendered = self._rendered(prompt, response, question)
            reply = (await self.role_model.ask(rendered, QuestionReply, stage=STAGE)).value
        except ModelError as error:
            return JudgeAnswer(None, str(error), f"judge-{error.reason}", label, mark)
        return JudgeAnswer(reply.answer == "yes", reply.reason.strip(), None, label, mark)

    def request(self, prompt: str, response: str, question: str) -> Request:
        request = self.role_model.request(self._rendered(prompt, response, question), stage=STAGE)
        return request.replace(reply_schema=reply_schema(QuestionReply))

    def fingerprint(self) -> str:
        how = [self.role_model.defaults.to_dict(), self.instructions]
        return digest([fingerprint(TEMPLATE), self.role_model.identity, how], 16)

    def _rendered(self, prompt: str, response: str, question: str) -> Rendered:
        return render(TEMPLATE, prompt=prompt, response=response, question=question, instructions=self.instructions)


Evaluate = Callable[[Sequence[tuple[Item, Answers]]], Awaitable[Sequence[tuple[Result, Sequence[str]]]]]
"""Evaluates items with the answers that are known about each: their results, and the questions that are left open."""


Ask = Callable[[Sequence[tuple[Item, str]]], Awaitable[Sequence[JudgeAnswer]]]
"""Gives the answers to questions about items, in order."""


async def evaluated(items: Sequence[Item], evaluate: Evaluate[Item, Result], ask: Ask[Item] | None) -> list[Result]:
    """The results of items, once every question that their checks put has its answer.

    Evaluates, asks what is left open, and evaluates those items again, until nothing is; at most as often as a check
    may ask. Evaluation must be deterministic: with the same answers it puts the same questions.
    """
    answers: list[dict[str, JudgeAnswer]] = [{} for _ in items]
    results: dict[int, Result] = {}
    left: Sequence[int] = range(len(items))
    for _ in range(MAX_QUESTIONS + 1):
        open_questions: list[tuple[int, str]] = []
        for at, (result, questions) in zip(
            left, await evaluate([(items[at], answers[at]) for at in left]), strict=True
        ):
            results[at] = result
            open_questions += [(at, question) for question in dict.fromkeys(questions) if question not in answers[at]]
        if ask is None or not open_questions:
            break
        replies = await ask([(items[at], question) for at, question in open_questions])
        for (at, question), reply in zip(open_questions, replies, strict=True):
            answers[at][question] = reply
        for at in {at for at, _ in open_questions}:
            if any(one.unscored not in NOT_ASKED for one in answers[at].values()):
                answers[at] = {
                    question: replace(one, unscored=CUT.get(one.unscored or "", one.unscored))
                    for question, one in answers[at].items()
                }
        left = list(dict.fromkeys(at for at, _ in open_questions))
    return [results[at] for at in range(len(items))]


async def ask_all(judge: QuestionJudge, questions: Sequence[tuple[str, str, str]], emit: Listener) -> list[JudgeAnswer]:
    """The judge's answers to questions, each with its prompt and response; ``emit`` is told of each as it comes."""
    label = judge.role_model.label

    async def one(asked: tuple[str, str, str]) -> JudgeAnswer:
        reply = await judge.answer(*asked)
        emit(StepDone(STAGE, label, reply.unscored))
        return reply

    with stage_events(emit, STAGE, {label: len(questions)}):
        return list(await run_all(one, questions))
