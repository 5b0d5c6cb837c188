"""The stages of ``run``, and how their requests are counted once the cases are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from promptpex.assertions import check_conditions, questions_of
from promptpex.core.errors import PromptFileError
from promptpex.core.records import Completion, Output, Prompt, Request, Spec, Suite
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import Key
from promptpex.judging import modes
from promptpex.judging.judge import Judge
from promptpex.promptfile import RENDERING_SECONDS
from promptpex.workflow.execution.check_questions import (
    checking,
    open_questions,
    outputs_with_cases,
    question_judges,
    results_of,
)
from promptpex.workflow.execution.collect import Cell, cells, request_for
from promptpex.workflow.execution.expected_scores import expected_outputs, match_judges, settled_by_code
from promptpex.workflow.execution.judges import judges_for
from promptpex.workflow.execution.verdicts_of_code import rules_of_outputs, verdicts_of_code
from promptpex.workflow.front_matter import output_params
from promptpex.workflow.metrics import criteria_texts, metric_judges, metrics_of
from promptpex.workflow.session import Session
from promptpex.workflow.stages.stage import TYPICAL_ANSWER, ModelRequests, Stage, Workload, beyond_prompt


def _judge_tokens(work: Workload) -> int:
    mode = modes.mode(work.settings.judge_mode)
    examples = work.settings.judge_examples * work.rules if mode.examples_template else 0
    return TYPICAL_ANSWER * (1 + examples) + mode.typical_tokens(work.prompt_tokens)


async def _outputs(run: PlannedRun) -> list[ModelRequests]:
    by_model: dict[str, list[Request]] = {}
    for cell, request in run.requests:
        by_model.setdefault(cell.model.label, []).append(request)
    return [ModelRequests(label, requests, run.replies) for label, requests in by_model.items()]


async def _judging(run: PlannedRun) -> list[ModelRequests]:
    session, judges = run.session, judges_for(run.session, run.prompt, run.spec)
    if not judges:
        return []
    inputs = {case.id: case.inputs for case in run.suite.cases}
    rules = [rule for rule in run.spec.rules if not rule.stale]
    unmet = check_conditions(rules, run.missing, lambda output: inputs[output.case])
    check = checking(session.engine_for(results_of(rules, len(run.stored))), rules)
    code = await verdicts_of_code(session, check, run.prompt, rules, run.suite, run.stored)
    left_out = {**rules_of_outputs(unmet), **code.settled}

    def requests(judge: Judge, output: Output) -> list[Request]:
        return [
            judge.request(output, question)
            for turn in range(session.settings.judge_repeat)
            for question in judge.questions(inputs[output.case], turn=turn, left_out=left_out.get(output.key, ()))
        ]

    asked = []
    for judge in judges:
        of_stored, of_missing = (
            [request for output in outputs for request in requests(judge, output)]
            for outputs in (run.stored, run.missing)
        )
        replies = await session.store.get_many(request.id for request in of_stored)
        asked.append(ModelRequests(judge.role_model.label, [*of_stored, *of_missing], replies))
    return asked


async def _questions(run: PlannedRun) -> list[ModelRequests]:
    """Which questions code puts is known as it runs: they are counted by its text."""
    rules = [rule for rule in run.spec.rules if not rule.stale]
    asked = []
    for judge in question_judges(run.session, run.prompt, rules):
        with_cases = outputs_with_cases(run.prompt, rules, run.suite, run.outputs, {})
        requests = [judge.request(*each) for each in await open_questions(run.session, rules, with_cases)]
        replies = await run.session.store.get_many(request.id for request in requests)
        most = len(with_cases) * questions_of(check for rule in rules for check in rule.checks)
        further = max(0, most - len(requests))
        asked.append(ModelRequests(judge.role_model.label, requests, replies, further))
    return asked


async def _comparisons(run: PlannedRun) -> list[ModelRequests]:
    inputs = {case.id: case.inputs for case in run.suite.cases}
    expected = expected_outputs(run.suite, run.session.settings.match)
    stored, missing = (
        [one for one in outputs if one.case in expected and not settled_by_code(one, expected[one.case])]
        for outputs in (run.stored, run.missing)
    )
    asked = []
    for judge in match_judges(run.session, run.prompt, run.spec, run.suite):
        of_stored, of_missing = (
            [judge.request(one, inputs[one.case], expected[one.case].all) for one in outputs]
            for outputs in (stored, missing)
        )
        replies = await run.session.store.get_many(request.id for request in of_stored)
        asked.append(ModelRequests(judge.role_model.label, [*of_stored, *of_missing], replies))
    return asked


async def _metrics(run: PlannedRun) -> list[ModelRequests]:
    cases = {case.id: case for case in run.suite.cases}
    requests: dict[str, list[Request]] = {}
    criteria = criteria_texts(run.prompt, run.spec)
    for judge in metric_judges(run.session, run.prompt, metrics_of(run.session, run.prompt)):
        for output in run.outputs:
            with suppress(PromptFileError):  # such an output is not asked about
                text = criteria.text(judge.metric, cases[output.case], output.text or "")
                requests.setdefault(judge.role_model.label, []).append(judge.request(text))
    replies = await run.session.store.get_many(request.id for some in requests.values() for request in some)
    return [ModelRequests(label, some, replies) for label, some in requests.items()]


STAGES: tuple[Stage, ...] = (
    Stage(
        name="output",
        label=Key("output"),
        part="run",
        role="model",
        requests=lambda work: work.outputs,
        request_tokens=beyond_prompt(100),
        settings=("repeats", "temperature", "max_tokens", "seed"),
        planned=_outputs,
    ),
    Stage(
        name="judge",
        label=Key("judge"),
        part="run",
        role="judge",
        requests=lambda work: work.outputs * work.models * work.settings.judge_repeat,
        request_tokens=_judge_tokens,
        templates=("judging/rules_with_examples", *(f"judging/{mode}" for mode in modes.names())),
        settings=(
            "judge",
            "judge_mode",
            "judge_sees_input",
            "judge_sees_prompt",
            "judge_all",
            "judge_repeat",
            "judge_confidence",
            "quorum",
            "min_agreement",
            "judge_examples",
        ),
        planned=_judging,
    ),
    Stage(
        name="question",
        label=Key("questions of checks"),
        part="run",
        role="answerer",
        requests=lambda work: work.outputs * work.models * work.questions,
        request_tokens=lambda work: work.prompt_tokens + 300 + TYPICAL_ANSWER,
        answer_tokens=lambda work: 60,
        templates=("judging/question",),
        settings=("judge",),
        planned=_questions,
    ),
    Stage(
        name="match",
        label=Key("comparison"),
        part="run",
        role="judge",
        requests=lambda work: work.asked_cases * work.settings.repeats * work.models,
        request_tokens=lambda work: 250 + 2 * TYPICAL_ANSWER,
        templates=("judging/match",),
        settings=("match",),
        planned=_comparisons,
    ),
    Stage(
        name="metric",
        label=Key("metrics"),
        part="run",
        role="judge",
        requests=lambda work: work.outputs * work.models * work.metrics,
        request_tokens=lambda work: work.prompt_tokens + 300 + TYPICAL_ANSWER,
        templates=("judging/metric",),
        settings=("metrics",),
        planned=_metrics,
    ),
)


@dataclass(frozen=True)
class PlannedRun:
    """A run whose suite is known, before anything is asked.

    Attributes:
        session, prompt, spec, suite: what it would be made with.
        requests: for outputs, each with its case, model and repeat.
        replies: those to them that the store holds, by the ids of the requests.
    """

    session: Session
    prompt: Prompt
    spec: Spec
    suite: Suite
    requests: Sequence[tuple[Cell, Request]]
    replies: Mapping[str, Completion]

    @cached_property
    def stored(self) -> list[Output]:
        """The outputs that the store holds."""
        return [
            _output(cell, self.replies[request.id].text)
            for cell, request in self.requests
            if request.id in self.replies
        ]

    @cached_property
    def missing(self) -> list[Output]:
        text = "x" * 4 * TYPICAL_ANSWER
        return [_output(cell, text) for cell, request in self.requests if request.id not in self.replies]

    @property
    def outputs(self) -> list[Output]:
        """All outputs: those of the store first."""
        return [*self.stored, *self.missing]


async def plan_run(session: Session, prompt: Prompt, spec: Spec, suite: Suite) -> PlannedRun:
    """The run of these, with what the store holds of it."""
    defaults, time = output_params(session, prompt, spec), Allowance(RENDERING_SECONDS)
    asked = cells(suite.usable(), session.roles.models(), session.settings.repeats)
    requests = [(cell, request_for(prompt, cell, defaults, time)) for cell in asked]
    replies = await session.store.get_many(request.id for _, request in requests)
    return PlannedRun(session, prompt, spec, suite, requests, replies)


def _output(cell: Cell, text: str | None) -> Output:
    return Output(case=cell.case.id, model=cell.model.label, repeat=cell.repeat, text=text)
