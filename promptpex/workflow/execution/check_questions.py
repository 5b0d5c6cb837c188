"""The questions that checks put about a run's outputs: asked of the first judge; its answers decide the checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from promptpex.assertions import (
    CodeVerdict,
    ExpectedOutput,
    OutputOfCase,
    RuleCheckJob,
    chunked,
    questions_of,
    sees_prompt,
)
from promptpex.codecs.text.wording import plural
from promptpex.core.events import Notice
from promptpex.core.judge_questions import Answers, JudgeAnswer
from promptpex.core.records import Output, Prompt, Rule, Suite, Verdict
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored
from promptpex.engines import Engine
from promptpex.judging.questions import STAGE, QuestionJudge, ask_all, evaluated
from promptpex.promptfile import RENDERING_SECONDS, sent_text
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.session import Session


def question_judges(session: Session, prompt: Prompt, rules: Sequence[Rule]) -> tuple[QuestionJudge, ...]:
    """Who answers the questions of the rules' checks: the first judge; nobody where none is put or there is no judge.

    One judge, not a majority of several: code may go on from an answer to another question, so each answer has to be
    one word, and the same one whenever the check is evaluated again.
    """
    if not questions_of(check for rule in rules for check in rule.checks):
        return ()
    note = instructions_of(session.settings, prompt).get(STAGE, "")
    return tuple(QuestionJudge(role_model, note) for role_model in session.roles.judges()[:1])


def announce_questions(session: Session, judges: Sequence[QuestionJudge], rules: Sequence[Rule], outputs: int) -> None:
    """Says how many requests the questions of checks take, before the first: a spec may be a stranger's."""
    count = questions_of(check for rule in rules for check in rule.checks)
    for judge in judges if outputs else ():
        message = stored(
            "checks ask {judge} {questions} about each output: about {requests}",
            questions=plural(count, "question"),
            judge=judge.role_model.label,
            requests=plural(count * outputs, "request"),
        )
        session.emit(Notice(message))


RunChecks = Callable[[Sequence[OutputOfCase]], Awaitable[list[CodeVerdict]]]
"""Gives the verdicts of code on outputs, by output, then by rule."""


def checking(engine: Engine, rules: Sequence[Rule]) -> RunChecks:
    """The checks of the rules on an engine."""
    job = RuleCheckJob(tuple(rules))

    async def check(outputs: Sequence[OutputOfCase]) -> list[CodeVerdict]:
        return list(chain.from_iterable(await engine.map(job, chunked(outputs))))

    return check


def results_of(rules: Sequence[Rule], outputs: int) -> int:
    """How many results the checks of the rules have on so many outputs."""
    return outputs * sum(len(rule.checks) for rule in rules)


async def verdicts_with_answers(
    session: Session,
    check: RunChecks,
    outputs: Sequence[OutputOfCase],
    judges: Sequence[QuestionJudge],
    order: Callable[[OutputOfCase], int],
) -> list[Verdict]:
    """What the rules' checks say of the outputs, by output, then by rule; without a judge what asks is ``needs-judge``.

    Args:
        outputs: without answers; theirs are asked for here.
        judges: none, or the one that answers.
        check: what runs the rules' checks.
        order: the place of an output among those that are asked about.
    """

    async def evaluate(
        items: Sequence[tuple[OutputOfCase, Answers]],
    ) -> list[tuple[Sequence[CodeVerdict], Sequence[str]]]:
        answered = [replace(each, answers=answers) for each, answers in items]
        results = await check(answered)
        size = len(results) // len(answered) if answered else 0
        grouped = [results[at * size : (at + 1) * size] for at in range(len(answered))]
        return [(group, [question for one in group for question in one.questions]) for group in grouped]

    async def ask(asked: Sequence[tuple[OutputOfCase, str]]) -> list[JudgeAnswer]:
        in_order = sorted(range(len(asked)), key=lambda at: order(asked[at][0]))
        questions = [
            (each.prompt, each.output.text or "", question) for each, question in map(asked.__getitem__, in_order)
        ]
        answers = dict(zip(in_order, await ask_all(judges[0], questions, session.emit), strict=True))
        return [answers[at] for at in range(len(asked))]

    groups = await evaluated(outputs, evaluate, ask if judges else None)
    return [one.verdict for group in groups for one in group]


async def open_questions(
    session: Session, rules: Sequence[Rule], outputs: Sequence[OutputOfCase]
) -> list[tuple[str, str, str]]:
    """The questions that checks put before any is answered, each with the prompt and the response that it is about."""
    results = await session.engine_for(results_of(rules, len(outputs))).map(
        RuleCheckJob(tuple(rules)), chunked(outputs)
    )
    by_key = {each.output.key: each for each in outputs}
    questions = [(one.verdict.key, question) for one in chain.from_iterable(results) for question in one.questions]
    return [(by_key[key].prompt, by_key[key].output.text or "", question) for key, question in dict.fromkeys(questions)]


def outputs_with_cases(
    prompt: Prompt,
    rules: Sequence[Rule],
    suite: Suite,
    outputs: Sequence[Output],
    expected: Mapping[str, ExpectedOutput],
) -> list[OutputOfCase]:
    """The usable outputs with what their cases say; with the prompt as it was sent, where a check looks at it."""
    cases = suite.by_id
    case_ids = (
        {output.case for output in outputs} if sees_prompt(check for rule in rules for check in rule.checks) else ()
    )
    time = Allowance(RENDERING_SECONDS)
    prompts = {case: sent_text(prompt, cases[case].inputs, time) for case in case_ids if case in cases}
    return [
        OutputOfCase(
            each,
            cases[each.case].inputs if each.case in cases else {},
            expected.get(each.case),
            prompts.get(each.case, ""),
        )
        for each in outputs
        if each.error is None and each.text is not None
    ]
