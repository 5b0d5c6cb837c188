"""What a command will ask and what that will cost, before anything is paid.

Requests of a stage that waits for an earlier one are counted from its record in ``workflow.stages``; outputs and
verdicts of a known suite are looked up in the store, request by request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil

from promptpex.assertions import check_conditions, questions_of
from promptpex.cases.batches import MOST_CASES, batches
from promptpex.cases.case_request import request_text
from promptpex.cases.plan import Generation, Plan
from promptpex.cases.rate import unrated
from promptpex.core.errors import PromptFileError
from promptpex.core.records import Completion, Message, Output, Prompt, Request, Spec, Suite
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import tr, tr_n
from promptpex.judging.judge import Judge
from promptpex.llm.stack import rates_for
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
from promptpex.workflow.generating import generation, planned
from promptpex.workflow.importing.embedded_tests import own_cases
from promptpex.workflow.metrics.metric_criteria import criteria_texts
from promptpex.workflow.metrics.metric_scores import metric_judges, metrics_of
from promptpex.workflow.output_params import output_params
from promptpex.workflow.session import Session
from promptpex.workflow.stages import TYPICAL_ANSWER, Part, Role, Stage, find, stages
from promptpex.workflow.workload import Workload

TYPICAL_RULES = 8
"""Rules of a prompt whose spec is not written yet; those of ``benchmarks/`` have 6 to 8."""


OF_ALL = ""
"""The stage and the model of a line that is the sum of others."""


@dataclass(frozen=True, slots=True)
class EstimateLine:
    """One stage with one model.

    Attributes:
        stage: such as ``output`` or ``judge``.
        model: the label.
        calls: requests that will be sent.
        stored: answers that are in the store already and cost nothing.
        tokens_in, tokens_out: of the requests that will be sent, estimated.
        cost_usd: US dollars; None = the price is unknown.
        exact: whether ``calls`` is the number, or an upper guess since an earlier stage is still missing.
        again: requests on top of ``calls`` if every reply had to be asked for once more (``Stage.most_again``).
    """

    stage: str
    model: str
    calls: int
    stored: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    exact: bool = True
    again: int = 0


async def estimate(session: Session, prompt: Prompt, spec: Spec | None, suite: Suite | None) -> list[EstimateLine]:
    """A line per stage and model for what ``run`` would ask of this prompt, in the order of the stages."""
    lines: list[EstimateLine] = []
    if spec is None:
        lines += extraction_lines(session, prompt)
    if suite is None:
        lines += _generation(session, prompt, spec)
    if spec is None or suite is None:
        return lines + _guessed(
            session, "run", _guessed_run(session, prompt, spec, number_of_cases(session, prompt, spec, suite))
        )
    outputs = await _output_requests(
        session, prompt, spec, cells(suite.usable(), session.roles.models(), session.settings.repeats)
    )
    judging = await _judging(session, prompt, spec, suite, outputs)
    asking = await _questioning(session, prompt, spec, suite, outputs)
    comparing = await _comparing(session, prompt, spec, suite, outputs)
    return [
        *lines,
        *outputs.lines(),
        *judging,
        *asking,
        *comparing,
        *(await _scoring(session, prompt, spec, suite, outputs)),
    ]


def number_of_cases(session: Session, prompt: Prompt, spec: Spec | None, suite: Suite | None) -> int:
    """The usable cases of the suite; where it is still to be generated, those that are likely to be made, longer
    variants among them."""
    if suite is not None:
        return len(suite.usable())
    if spec is None:
        new = _typical_cases(session, generation(session, prompt))
    else:
        new = planned(session, prompt, spec, Suite(prompt=spec.prompt)).missing
    return new * (1 + session.settings.expansion) + len(own_cases(prompt))


def extraction_lines(session: Session, prompt: Prompt) -> list[EstimateLine]:
    """What extracting a spec asks for and costs, a line per stage."""
    settings = session.settings
    work = Workload(
        settings=settings,
        prompt_tokens=tokens_of(prompt.messages),
        variables=len(prompt.variables),
        rules=min(settings.max_rules, TYPICAL_RULES),
    )
    return _guessed(session, "extract", work)


def generation_lines(
    session: Session, prompt: Prompt, spec: Spec, todo: Plan, *, rating: bool = False
) -> list[EstimateLine]:
    """What a plan of generation asks for and costs; what the new cases need once they are made is an upper guess.

    Args:
        rating: whether the cases are to be rated as well.
    """
    options = generation(session, prompt)
    asked = batches(todo.make, options.rules_per_request)
    texts = [request_text(prompt, spec, batch, options, todo.keep).messages for batch in asked]
    work = Workload(
        settings=session.settings,
        prompt_tokens=tokens_of(prompt.messages),
        case_requests=len(asked),
        case_tokens=ceil(sum(map(tokens_of, texts)) / max(len(texts), 1)),
        new_cases=todo.missing,
        rated=len(unrated(Suite(prompt="", cases=todo.keep), spec)) + todo.missing if rating else 0,
    )
    return _guessed(session, "generate", work)


def synthesis_lines(session: Session, work: Workload) -> list[EstimateLine]:
    """What so much of a synthesis asks for and costs; the author is chosen only where there is something to ask."""
    return _guessed(session, "synthesize", work)


def sum_of(lines: Sequence[EstimateLine]) -> EstimateLine:
    """The lines in one, of all stages and models; its price is unknown where that of a line is."""
    costs = [line.cost_usd for line in lines]
    return EstimateLine(
        stage=OF_ALL,
        model=OF_ALL,
        calls=sum(line.calls for line in lines),
        stored=sum(line.stored for line in lines),
        tokens_in=sum(line.tokens_in for line in lines),
        tokens_out=sum(line.tokens_out for line in lines),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        exact=all(line.exact for line in lines),
        again=sum(line.again for line in lines),
    )


def total_in_words(lines: Sequence[EstimateLine]) -> str:
    """The sum of requests and of known prices, and which models have no known price."""
    from promptpex.report.terminal import money

    cost = sum(line.cost_usd for line in lines if line.cost_usd is not None)
    unpriced = ", ".join(sorted({line.model for line in lines if line.cost_usd is None}))
    total = tr_n("{count} request", "{count} requests", sum(line.calls for line in lines))
    total = total if all(line.exact for line in lines) else tr("about {number}", number=total)
    if unpriced and not cost:
        return tr("{requests}; the price of {models} is unknown", requests=total, models=unpriced)
    if unpriced:
        words = {"requests": total, "money": money(cost), "models": unpriced}
        return tr("{requests}, about {money} and the unknown price of {models}", **words)
    return tr("{requests}, about {money}", requests=total, money=money(cost))


def again_in_words(lines: Sequence[EstimateLine]) -> str:
    """What the estimate leaves out, since it is not known before: requests that are made once more; empty where none
    can be."""
    again = sum(line.again for line in lines)
    if not again:
        return ""
    what = tr("a reply that cannot be read is asked for once more, and then in parts")
    if any(find(line.stage).refusals and line.calls for line in lines):
        what = f"{what}; {tr('checks that are refused are proposed once more')}"
    not_counted = tr("Not counted: {what}.", what=what)
    more = tr_n(
        "That is {count} request more if that happens to every reply, not counting the parts.",
        "That is {count} requests more if that happens to every reply, not counting the parts.",
        again,
    )
    return f"{not_counted} {more}"


def tokens_of(messages: Iterable[Message]) -> int:
    """About how many tokens messages have: a quarter of their UTF-8 bytes, and 4 per turn for its role."""
    return sum(4 + ceil(len(message.content.encode("utf-8", "replace")) / 4) for message in messages)


def _generation(session: Session, prompt: Prompt, spec: Spec | None) -> list[EstimateLine]:
    if spec is not None:
        return generation_lines(session, prompt, spec, planned(session, prompt, spec, Suite(prompt=spec.prompt)))
    options = generation(session, prompt)
    scenarios = max(1, len(options.scenarios))
    cases = _typical_cases(session, options)
    groups = scenarios * ceil(TYPICAL_RULES / options.rules_per_request) if cases else 0
    work = Workload(
        settings=session.settings,
        prompt_tokens=tokens_of(prompt.messages),
        case_requests=max(groups, ceil(cases / MOST_CASES)),
        new_cases=cases,
        known=False,
    )
    return _guessed(session, "generate", work)


def _typical_cases(session: Session, options: Generation) -> int:
    """Cases of a prompt that has no spec yet."""
    settings = session.settings
    return max(1, len(options.scenarios)) * TYPICAL_RULES * (settings.cases_per_rule + settings.inverse_cases)


def _guessed_run(session: Session, prompt: Prompt, spec: Spec | None, cases: int) -> Workload:
    return Workload(
        settings=session.settings,
        prompt_tokens=tokens_of(prompt.messages),
        cases=cases,
        models=len(session.roles.models()),
        metrics=sum(metric.criteria is not None for metric in metrics_of(session, prompt)),
        questions=questions_of(check for rule in spec.rules for check in rule.checks) if spec is not None else 0,
        known=False,
    )


def _guessed(session: Session, part: Part, work: Workload) -> list[EstimateLine]:
    """A line for each registered stage of this part and each model that it asks, where it asks anything."""
    asking = [(stage, stage.requests(work)) for stage in stages(part)]
    return [
        _guessed_line(session, stage, label, calls, work)
        for stage, calls in asking
        if calls
        for label in _asked(session, stage.role)
    ]


def _asked(session: Session, role: Role) -> tuple[str, ...]:
    """The labels of the models in a role."""
    if role == "author":
        return (session.roles.author().label,)
    if role == "checker":
        return (session.roles.checker().label,)
    if role == "answerer":
        return tuple(judge.label for judge in session.roles.judges()[:1])
    if role == "judge":
        return tuple(judge.label for judge in session.roles.judges())
    if role == "reference":
        return (session.settings.expected,) if session.settings.expected else ()
    return tuple(model.label for model in session.roles.models())


def _guessed_line(session: Session, stage: Stage, label: str, calls: int, work: Workload) -> EstimateLine:
    tokens_in, tokens_out = calls * stage.request_tokens(work), calls * stage.answer_tokens(work)
    exact = stage.exact and work.known
    line = EstimateLine(stage.name, label, calls, 0, tokens_in, tokens_out, None, exact, calls * stage.most_again)
    return _priced(session, line)


@dataclass(frozen=True, slots=True)
class _OutputRequests:
    """The requests for outputs, with the answers that the store holds."""

    session: Session
    questions: Sequence[tuple[Cell, Request]]
    stored: Mapping[str, Completion]

    def lines(self) -> list[EstimateLine]:
        """A line per model."""
        by_model: dict[str, list[Request]] = {}
        for cell, request in self.questions:
            by_model.setdefault(cell.model.label, []).append(request)
        output = find("output")
        return [_line(self.session, output, label, requests, self.stored) for label, requests in by_model.items()]

    def stored_and_missing(self) -> tuple[list[Output], list[Output]]:
        """The stored answers as outputs, and an output of typical length for each that is missing."""
        stored, missing = [], []
        for cell, request in self.questions:
            output = Output(case=cell.case.id, model=cell.model.label, repeat=cell.repeat)
            if request.id in self.stored:
                stored.append(output.replace(text=self.stored[request.id].text))
            else:
                missing.append(output.replace(text="x" * 4 * TYPICAL_ANSWER))
        return stored, missing


async def _output_requests(session: Session, prompt: Prompt, spec: Spec, cells: Sequence[Cell]) -> _OutputRequests:
    defaults, time = output_params(session, prompt, spec), Allowance(RENDERING_SECONDS)
    questions = [(cell, request_for(prompt, cell, defaults, time)) for cell in cells]
    return _OutputRequests(session, questions, await session.store.get_many(request.id for _, request in questions))


async def _judging(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, outputs: _OutputRequests
) -> list[EstimateLine]:
    judges = judges_for(session, prompt, spec)
    if not judges:
        return []
    inputs = {case.id: case.inputs for case in suite.cases}
    stored, missing = outputs.stored_and_missing()
    turns = range(session.settings.judge_repeat)
    lines = []
    rules = [rule for rule in spec.rules if not rule.stale]
    unmet = check_conditions(rules, missing, lambda output: inputs[output.case])
    check = checking(session.engine_for(results_of(rules, len(stored))), rules)
    code = await verdicts_of_code(session, check, prompt, rules, suite, stored)
    left_out = {**rules_of_outputs(unmet), **code.settled}

    def requests(judge: Judge, outputs: Sequence[Output]) -> list[Request]:
        return [
            judge.request(output, question)
            for output in outputs
            for turn in turns
            for question in judge.questions(inputs[output.case], turn=turn, left_out=left_out.get(output.key, ()))
        ]

    for judge in judges:
        of_stored, of_missing = requests(judge, stored), requests(judge, missing)
        replies = await session.store.get_many(request.id for request in of_stored)
        lines.append(_line(session, find("judge"), judge.role_model.label, [*of_stored, *of_missing], replies))
    return lines


async def _questioning(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, outputs: _OutputRequests
) -> list[EstimateLine]:
    """A line for the questions of checks. Which ones code puts is known as it runs: it is counted by its text."""
    rules = [rule for rule in spec.rules if not rule.stale]
    stored, missing = outputs.stored_and_missing()
    lines = []
    for judge in question_judges(session, prompt, rules):
        with_cases = outputs_with_cases(prompt, rules, suite, [*stored, *missing], {})
        requests = [judge.request(*each) for each in await open_questions(session, rules, with_cases)]
        replies = await session.store.get_many(request.id for request in requests)
        line = _line(session, find("question"), judge.role_model.label, requests, replies)
        most = len(with_cases) * questions_of(check for rule in rules for check in rule.checks)
        further = max(0, most - len(requests))
        each_in = line.tokens_in // max(1, line.calls)
        calls, tokens_in = line.calls + further, line.tokens_in + further * each_in
        lines.append(_priced(session, replace(line, calls=calls, tokens_in=tokens_in, exact=not further)))
    return lines


async def _comparing(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, outputs: _OutputRequests
) -> list[EstimateLine]:
    """A line per judge that compares outputs with expected ones."""
    inputs = {case.id: case.inputs for case in suite.cases}
    expected = expected_outputs(suite, session.settings.match)
    stored, missing = (
        [one for one in some if one.case in expected and not settled_by_code(one, expected[one.case])]
        for some in outputs.stored_and_missing()
    )
    lines = []
    for judge in match_judges(session, prompt, spec, suite):
        requests = [
            [judge.request(one, inputs[one.case], expected[one.case].all) for one in some] for some in (stored, missing)
        ]
        replies = await session.store.get_many(request.id for request in requests[0])
        lines.append(_line(session, find("match"), judge.role_model.label, [*requests[0], *requests[1]], replies))
    return lines


async def _scoring(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, outputs: _OutputRequests
) -> list[EstimateLine]:
    """A line per judge that scores outputs by metrics."""
    cases = {case.id: case for case in suite.cases}
    stored, missing = outputs.stored_and_missing()
    requests: dict[str, list[Request]] = {}
    criteria = criteria_texts(prompt, spec)
    for judge in metric_judges(session, prompt, metrics_of(session, prompt)):
        for output in [*stored, *missing]:
            with suppress(PromptFileError):  # such an output is not asked about
                text = criteria.text(judge.metric, cases[output.case], output.text or "")
                requests.setdefault(judge.role_model.label, []).append(judge.request(text))
    replies = await session.store.get_many(request.id for some in requests.values() for request in some)
    return [_line(session, find("metric"), label, some, replies) for label, some in requests.items()]


def _line(
    session: Session, stage: Stage, label: str, requests: Sequence[Request], stored: Mapping[str, Completion]
) -> EstimateLine:
    missing = [request for request in requests if request.id not in stored]
    lengths = [answer.tokens_out for answer in stored.values() if answer.tokens_out]
    typical = ceil(sum(lengths) / len(lengths)) if lengths else TYPICAL_ANSWER
    tokens_in, tokens_out = sum(tokens_of(request.messages) for request in missing), typical * len(missing)
    in_store = len(requests) - len(missing)
    again = len(missing) * stage.most_again
    line = EstimateLine(stage.name, label, len(missing), in_store, tokens_in, tokens_out, None, again=again)
    return _priced(session, line)


def _priced(session: Session, line: EstimateLine) -> EstimateLine:
    """The line with its price, by the same rates as the budget's: another server may not charge what OpenAI does."""
    rates = rates_for(session.roles.called(line.model), session.settings.prices) if line.calls else (0.0, 0.0)
    return replace(line, cost_usd=rates and (line.tokens_in * rates[0] + line.tokens_out * rates[1]) / 1e6)
