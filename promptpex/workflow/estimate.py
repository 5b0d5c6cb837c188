"""What a command will ask and what it will cost, before anything is paid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from promptpex.cases.generate import request_text
from promptpex.cases.plan import Plan
from promptpex.codecs.wording import plural
from promptpex.config import Settings
from promptpex.core.records import Completion, Message, Output, Prompt, Request, Spec, Suite
from promptpex.core.time_allowance import Allowance
from promptpex.judging import modes
from promptpex.llm.names import parse_model
from promptpex.llm.stack import rates_for
from promptpex.promptfile import RENDERING_SECONDS
from promptpex.stats import Resolution, smallest_shown
from promptpex.workflow.collect import Cell, cells, request_for
from promptpex.workflow.generating import generation, planned
from promptpex.workflow.running import judges_for
from promptpex.workflow.session import Session

TYPICAL_ANSWER = 200
"""Tokens of an answer whose like was never seen; a stored answer of the same model is a better guide."""

TYPICAL_RULES = 8
"""Rules of a prompt whose spec is not written yet."""

TYPICAL_RATE = 0.1
"""Non-compliance of a model of which nothing is known yet."""


@dataclass(frozen=True, slots=True)
class Line:
    """One stage with one model.

    Attributes:
        stage: such as ``output`` or ``judge``.
        model: the label.
        calls: requests that will be sent.
        stored: answers that are in the store already, and cost nothing.
        tokens_in, tokens_out: of the requests that will be sent, estimated.
        cost_usd: US dollars; None = the price is unknown.
        exact: whether ``calls`` is the number, or an upper guess since an earlier stage is still missing.
    """

    stage: str
    model: str
    calls: int
    stored: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    exact: bool = True


async def estimate(session: Session, prompt: Prompt, spec: Spec | None, suite: Suite | None) -> list[Line]:
    """A line per stage and model for what ``run`` would ask of this prompt, in the order of the stages."""
    lines: list[Line] = []
    if spec is None:
        lines += _extraction(session, prompt)
    if suite is None:
        lines += _generation(session, prompt, spec)
    if spec is None or suite is None:
        return lines + _guessed_outputs(session, prompt, lines)
    questions = cells(suite.usable(), session.models(), session.settings.repeats)
    answers = await _answers(session, prompt, questions)
    lines += answers.lines()
    return lines + await _judging(session, prompt, spec, suite, answers)


def can_show(session: Session, suite: Suite | None) -> str:
    """What the suite can show of these models at best, in words, before anything is paid.

    Where there is no suite yet, for as many cases as are likely to be made.
    """
    settings = session.settings
    cases = len(suite.usable()) if suite is not None else TYPICAL_RULES * _per_rule(session)
    if not cases:
        return "No case, so nothing can be shown."
    alpha = round(1.0 - settings.confidence, 12)
    found = smallest_shown(cases, len(session.models()), alpha, tolerance=settings.tolerance, rate=_rate(settings))
    about = "" if suite is not None else "about "
    return " ".join(_shown(found, f"{about}{plural(cases, 'case')}", settings.repeats))


def _rate(settings: Settings) -> float:
    """A non-compliance to think of, such that it may be worse by the tolerance."""
    return min(TYPICAL_RATE, 1.0 - settings.tolerance)


def _per_rule(session: Session) -> int:
    return session.settings.cases_per_rule + session.settings.inverse_cases


def _shown(found: Resolution, cases: str, repeats: int) -> Iterator[str]:
    points, rate = f"{100 * found.tolerance:g} points", f"{100 * found.rate:g}%"
    if found.models == 1:
        yield f"With {cases} the share of a model at {rate} is known to about {_points(found.half_width)} either way."
    else:
        gap = f"no gap under {_points(found.gap)} can be shown" if found.gap else "no gap at all can be shown"
        tie = f"no tie within less than {_points(found.tie)}" if found.tie else "no tie at all"
        yield f"With {cases} and {found.models} models {gap} and {tie}."
        least = (
            f"To show {points} takes at least {found.cases_to_call} cases for a gap and {found.cases_to_tie} for a tie"
        )
        if found.typical_to_call and found.typical_to_tie:
            likely = f"about {_about(found.typical_to_call)} and {_about(found.typical_to_tie)}"
            least += f"; models that fail {rate} of the cases, independently of each other, take {likely}"
        yield f"{least}."
    if repeats > 1:
        yield "Repeats make a case surer, but add no cases."


def _points(share: float) -> str:
    return f"{100 * share:.2g} points"


def _about(cases: int) -> str:
    return f"{float(f'{cases:.2g}'):,.0f}"


def tokens_of(messages: Iterable[Message]) -> int:
    """About how many tokens messages have: a quarter of their UTF-8 bytes, and a few a turn."""
    return sum(4 + ceil(len(message.content.encode("utf-8", "replace")) / 4) for message in messages)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The outputs' questions, with the answers that the store holds."""

    session: Session
    questions: Sequence[tuple[Cell, Request]]
    found: Mapping[str, Completion]

    def lines(self) -> list[Line]:
        by_model: dict[str, list[Request]] = {}
        for cell, request in self.questions:
            by_model.setdefault(cell.model.label, []).append(request)
        return [_line(self.session, "output", label, some, self.found) for label, some in by_model.items()]

    def outputs(self) -> list[Output]:
        """The stored answers as outputs."""
        return [
            Output(case=cell.case.id, model=cell.model.label, repeat=cell.repeat, text=self.found[request.id].text)
            for cell, request in self.questions
            if request.id in self.found
        ]


async def _answers(session: Session, prompt: Prompt, cells: Sequence[Cell]) -> _Answers:
    defaults, time = session.output_params(), Allowance(RENDERING_SECONDS)
    questions = [(cell, request_for(prompt, cell, defaults, time)) for cell in cells]
    return _Answers(session, questions, await session.store.get_many(request.id for _, request in questions))


async def _judging(session: Session, prompt: Prompt, spec: Spec, suite: Suite, answers: _Answers) -> list[Line]:
    inputs = {case.id: case.inputs for case in suite.cases}
    known = answers.outputs()
    open_ = [
        Output(case=cell.case.id, model=cell.model.label, repeat=cell.repeat, text="x" * 4 * TYPICAL_ANSWER)
        for cell, request in answers.questions
        if request.id not in answers.found
    ]
    lines = []
    for judge in judges_for(session, prompt, spec):
        requests = [judge.request(output, inputs[output.case]) for output in (*known, *open_)]
        found = await session.store.get_many(request.id for request in requests[: len(known)])
        line = _line(session, "judge", judge.asker.label, requests, found)
        lines.append(line)
    return lines


def _extraction(session: Session, prompt: Prompt) -> list[Line]:
    author = session.author().label
    each = tokens_of(prompt.messages) + 350
    variables = len(prompt.variables) + (len(prompt.variables) > 1)
    settings = session.settings
    wanted = {"inverse": settings.inverse_cases > 0, "checks": settings.checks, "groundedness": settings.verify}
    rules = min(settings.max_rules, TYPICAL_RULES)
    calls = {"intent": 1, "inputs": variables, "rules": 1, **{stage: rules for stage, asked in wanted.items() if asked}}
    sure = ("intent", "inputs", "rules")
    return [_guess(session, stage, author, count, each, exact=stage in sure) for stage, count in calls.items()]


def _generation(session: Session, prompt: Prompt, spec: Spec | None) -> list[Line]:
    author = session.author().label
    options = generation(session, prompt)
    if spec is None:
        requests = TYPICAL_RULES * (ceil(options.per_rule / options.batch) + ceil(options.per_inverse / options.batch))
        each = tokens_of(prompt.messages) + 600
        made = TYPICAL_RULES * (options.per_rule + options.per_inverse) * max(1, len(options.scenarios))
        requests *= max(1, len(options.scenarios))
        return [_guess(session, "cases", author, requests, each, exact=False), *_tended(session, made, each)]
    return generation_lines(session, prompt, spec, planned(session, prompt, spec, Suite(prompt=spec.prompt)))


def generation_lines(session: Session, prompt: Prompt, spec: Spec, todo: Plan) -> list[Line]:
    """What a plan of generation asks for and costs; of validity and expansion a guess, for the new cases."""
    options = generation(session, prompt)
    calls = sum(ceil(missing / options.batch) for _, missing in todo.make)
    texts = [request_text(prompt, spec, target, missing, (), options).messages for target, missing in todo.make]
    each = ceil(sum(map(tokens_of, texts)) / max(len(texts), 1))
    return [_guess(session, "cases", session.author().label, calls, each), *_tended(session, todo.missing, each)]


def extraction_lines(session: Session, prompt: Prompt) -> list[Line]:
    """What the extraction of a spec asks for and costs, a line a stage."""
    return _extraction(session, prompt)


def in_words(lines: Sequence[Line]) -> str:
    """The sum of requests and of known prices, and whose price is unknown."""
    known = sum(line.cost_usd for line in lines if line.cost_usd is not None)
    unknown = sorted({line.model for line in lines if line.cost_usd is None})
    about = "" if all(line.exact for line in lines) else "about "
    told = f"{about}{plural(sum(line.calls for line in lines), 'request')}, about ${known:.4f}"
    return f"{told} and the unknown price of {', '.join(unknown)}" if unknown else told


def _tended(session: Session, made: int, each: int) -> list[Line]:
    """What new cases need once they are made: variants, and a look at their validity."""
    settings, author = session.settings, session.author().label
    variants = made * settings.expansion
    calls = {"expand": variants, "validity": (made + variants) * settings.validity}
    return [_guess(session, stage, author, count, each, exact=False) for stage, count in calls.items() if count]


def _guessed_outputs(session: Session, prompt: Prompt, lines: Sequence[Line]) -> list[Line]:
    settings = session.settings
    cases = TYPICAL_RULES * _per_rule(session)
    calls = cases * settings.repeats
    each = tokens_of(prompt.messages) + 100
    models = session.models()
    guessed = [_guess(session, "output", model.label, calls, each, exact=False) for model in models]
    judge_in = TYPICAL_ANSWER + modes.mode(settings.judge_mode).typical_tokens(tokens_of(prompt.messages))
    judges = [
        _guess(session, "judge", judge.label, calls * len(models), judge_in, exact=False) for judge in session.judges()
    ]
    return guessed + judges


def _line(
    session: Session, stage: str, label: str, requests: Sequence[Request], found: Mapping[str, Completion]
) -> Line:
    missing = [request for request in requests if request.id not in found]
    known = [answer.tokens_out for answer in found.values() if answer.tokens_out]
    typical = ceil(sum(known) / len(known)) if known else TYPICAL_ANSWER
    tokens_in = sum(tokens_of(request.messages) for request in missing)
    line = Line(stage, label, len(missing), len(requests) - len(missing), tokens_in, typical * len(missing), None)
    return _priced(session, line)


def _guess(session: Session, stage: str, label: str, calls: int, each: int, *, exact: bool = True) -> Line:
    return _priced(session, Line(stage, label, calls, 0, calls * each, calls * TYPICAL_ANSWER, None, exact))


def _priced(session: Session, line: Line) -> Line:
    """The line with its price, by the same rates as the budget's: another's server does not charge what OpenAI does."""
    model = parse_model(line.model, api_base=session.settings.api_base)
    rates = rates_for(model.name, model.api_base, session.prices) if line.calls else (0.0, 0.0)
    return replace(line, cost_usd=rates and (line.tokens_in * rates[0] + line.tokens_out * rates[1]) / 1e6)
