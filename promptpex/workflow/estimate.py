"""What a command will ask and what that will cost, before anything is paid.

Each line is made from the record of its stage in ``workflow.stages``: the requests of a stage that waits for an earlier
one are counted, those of a run whose suite is known are looked up in the store, request by request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from promptpex.assertions import questions_of
from promptpex.cases.new_cases_request import MOST_CASES, batches
from promptpex.cases.plan import Generation, Plan
from promptpex.core.records import Message, Prompt, Spec, Suite
from promptpex.core.translation import tr, tr_n
from promptpex.llm.stack import rates_for
from promptpex.workflow.execution.expected_scores import asked_about
from promptpex.workflow.importing.embedded_tests import own_cases
from promptpex.workflow.metrics import metrics_of
from promptpex.workflow.session import Session
from promptpex.workflow.stages import find, stages
from promptpex.workflow.stages.run import plan_run
from promptpex.workflow.stages.stage import TYPICAL_ANSWER, ModelRequests, Role, Stage, Workload

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
    work = _workload_of_run(session, prompt, spec, suite)
    if spec is None or suite is None:
        return lines + part_lines(session, "run", work)
    run = await plan_run(session, prompt, spec, suite)
    for stage in stages("run"):
        if stage.planned is None:
            lines += _guessed(session, stage, work)
        else:
            lines += [_counted(session, stage, asked) for asked in await stage.planned(run)]
    return lines


def number_of_cases(session: Session, prompt: Prompt, spec: Spec | None, suite: Suite | None) -> int:
    """The usable cases of the suite; where it is still to be generated, those that are likely to be made, longer
    variants among them."""
    if suite is not None:
        return len(suite.usable())
    from promptpex.workflow.generating import generation, planned

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
    return part_lines(session, "extract", work)


def generation_lines(
    session: Session, prompt: Prompt, spec: Spec, todo: Plan, *, rating: bool = False
) -> list[EstimateLine]:
    """What a plan of generation asks for and costs; what the new cases need once they are made is an upper guess.

    Args:
        rating: whether the cases are to be rated as well.
    """
    from promptpex.cases.new_cases_request import request_text
    from promptpex.cases.rate import unrated
    from promptpex.workflow.generating import generation

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
    return part_lines(session, "generate", work)


def part_lines(session: Session, part: str, work: Workload) -> list[EstimateLine]:
    """What so much of a part of the work asks for and costs: a line for each of its stages and each model that it asks.
    Models are chosen only where there is something to ask."""
    return [line for stage in stages(part) for line in _guessed(session, stage, work)]


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
    what = tr("an unreadable reply is requested once more, and then in parts")
    if any(find(line.stage).refusals and line.calls for line in lines):
        what = f"{what}; {tr('rejected checks are proposed once more')}"
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
    from promptpex.workflow.generating import generation, planned

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
    return part_lines(session, "generate", work)


def _typical_cases(session: Session, options: Generation) -> int:
    settings = session.settings
    return max(1, len(options.scenarios)) * TYPICAL_RULES * (settings.cases_per_rule + settings.inverse_cases)


def _workload_of_run(session: Session, prompt: Prompt, spec: Spec | None, suite: Suite | None) -> Workload:
    return Workload(
        settings=session.settings,
        prompt_tokens=tokens_of(prompt.messages),
        cases=number_of_cases(session, prompt, spec, suite),
        asked_cases=0 if suite is None else len(asked_about(suite, session.settings.match)),
        models=len(session.roles.models()),
        metrics=sum(metric.criteria is not None for metric in metrics_of(session, prompt)),
        questions=questions_of(check for rule in spec.rules for check in rule.checks) if spec is not None else 0,
        known=spec is not None and suite is not None,
    )


def _guessed(session: Session, stage: Stage, work: Workload) -> list[EstimateLine]:
    calls = stage.requests(work)
    return [
        _guessed_line(session, stage, label, calls, work) for label in (_asked(session, stage.role) if calls else ())
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


def _counted(session: Session, stage: Stage, asked: ModelRequests) -> EstimateLine:
    """The line of requests that are known; what comes on top of them is taken to be as long as they are."""
    missing = [request for request in asked.requests if request.id not in asked.stored]
    lengths = [answer.tokens_out for answer in asked.stored.values() if answer.tokens_out]
    typical = ceil(sum(lengths) / len(lengths)) if lengths else TYPICAL_ANSWER
    tokens_in = sum(tokens_of(request.messages) for request in missing)
    line = EstimateLine(
        stage=stage.name,
        model=asked.label,
        calls=len(missing) + asked.further,
        stored=len(asked.requests) - len(missing),
        tokens_in=tokens_in + asked.further * (tokens_in // max(1, len(missing))),
        tokens_out=typical * len(missing),
        cost_usd=None,
        exact=not asked.further,
        again=len(missing) * stage.most_again,
    )
    return _priced(session, line)


def _priced(session: Session, line: EstimateLine) -> EstimateLine:
    """The line with its price, by the same rates as the budget's: another server may not charge what OpenAI does."""
    rates = rates_for(session.roles.called(line.model), session.settings.prices) if line.calls else (0.0, 0.0)
    return replace(line, cost_usd=rates and (line.tokens_in * rates[0] + line.tokens_out * rates[1]) / 1e6)
