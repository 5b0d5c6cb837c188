"""The registry of stages: everything about a stage but its function, in one record.

Instructions, estimates, progress, the response store's ``--stage`` and ARCHITECTURE.md's table are made from these
records. Adding a stage takes its function, its template under ``prompts/``, and one record here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Literal

from promptpex.cases import expand, rate, validity
from promptpex.core.translation import Key, shown
from promptpex.judging import modes
from promptpex.specs import ask_checks
from promptpex.specs.groundedness import RULES_PER_REQUEST as CLAIMS_PER_REQUEST
from promptpex.specs.propose_rules import RULES_PER_REQUEST
from promptpex.synthesis.proposing import propose_candidates, suggest_criteria
from promptpex.synthesis.results import implications
from promptpex.workflow.workload import Workload

TYPICAL_ANSWER = 200
"""Tokens of an answer of unknown length; the stored answers of the same model are a better guess. A rough figure."""

TYPICAL_CASE = 90
"""Tokens of a new case in an author's answer, with its aim and reasoning. A rough figure."""

TYPICAL_RULE = 70
"""Tokens of a rule with its source in an author's answer. A rough figure."""
TYPICAL_CHECKS = 150
"""Tokens of an answer with the checks of one rule and its examples, also where one in three is asked for again."""

TYPICAL_CRITERION = 60
"""Tokens of a criterion with its source in an author's answer. A rough figure."""
TYPICAL_CANDIDATES = 250
"""Tokens of the candidates of one criterion in an author's answer, also where one in three is asked for again."""

Part = Literal["extract", "generate", "baseline", "run", "synthesize"]
"""The part of the work that a stage belongs to."""

Role = Literal["author", "checker", "judge", "answerer", "model", "reference"]
"""Who is asked. ``checker``: the first judge that is named, else the author; ``answerer``: the first judge;
``reference``: setting ``expected``."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: one kind of request to a model.

    Attributes:
        name: in requests, events, the store, estimates and ``instructions``.
        label: what progress calls it; a ``Key`` where it is to be shown in the reader's language.
        part: the part of the work it belongs to.
        role: who is asked.
        requests: how many requests one model is sent.
        request_tokens, answer_tokens: tokens of one request and of its answer, roughly.
        templates: the templates it renders, such as ``specs/intent``. A stage with a template takes instructions.
        settings: the settings that decide whether and how it asks.
        exact: whether ``requests`` is right where the workload is known, not an upper bound.
        refusals: whether a reply that can be read may be refused, and is then asked for once more.
    """

    name: str
    label: str
    part: Part
    role: Role
    requests: Callable[[Workload], int]
    request_tokens: Callable[[Workload], int]
    answer_tokens: Callable[[Workload], int] = lambda work: TYPICAL_ANSWER
    templates: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    exact: bool = False
    refusals: bool = False

    @property
    def most_again(self) -> int:
        """How many requests more there are for each, if no reply can be used as it first comes: one where a reply has
        a form to keep, and one where it may be refused. Replies that are then asked for in parts come on top."""
        return bool(self.templates) + self.refusals


def beyond_prompt(tokens: int) -> Callable[[Workload], int]:
    """The tokens of a request that holds the prompt and so many more: about the length of the stage's template."""
    return lambda work: work.prompt_tokens + tokens


def _case_tokens(work: Workload) -> int:
    return work.case_tokens or work.prompt_tokens + 900


def _read_at_once(cases: int) -> int:
    """Requests by which a judge reads so many cases for their validity."""
    return ceil(cases / validity.CASES_PER_REQUEST)


def _case_answer_tokens(work: Workload) -> int:
    return ceil(work.new_cases * TYPICAL_CASE / max(1, work.case_requests))


def _judge_tokens(work: Workload) -> int:
    mode = modes.mode(work.settings.judge_mode)
    examples = work.settings.judge_examples * work.rules if mode.examples_template else 0
    return TYPICAL_ANSWER * (1 + examples) + mode.typical_tokens(work.prompt_tokens)


def _rules_answer_tokens(work: Workload) -> int:
    """Of a request for rules, each with its source and, where cases aim at it, its inverse."""
    each = TYPICAL_RULE * (1.5 if work.settings.inverse_cases else 1)
    return ceil(min(work.rules, RULES_PER_REQUEST) * each)


_REGISTRY: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            name="intent",
            label=Key("intent"),
            part="extract",
            role="author",
            requests=lambda work: 0,  # but where the request for the inputs did not bring it
            request_tokens=beyond_prompt(200),
            answer_tokens=lambda work: 60,
            templates=("specs/intent",),
            exact=True,
        ),
        Stage(
            name="inputs",
            label=Key("input spec"),
            part="extract",
            role="author",
            requests=lambda work: 1,
            request_tokens=beyond_prompt(550),
            answer_tokens=lambda work: 60 + 150 * work.variables,
            templates=("specs/inputs",),
            settings=("samples", "samples_shown"),
            exact=True,
        ),
        Stage(
            name="rules",
            label=Key("rules"),
            part="extract",
            role="author",
            requests=lambda work: ceil(work.rules / RULES_PER_REQUEST),
            request_tokens=beyond_prompt(800),
            answer_tokens=_rules_answer_tokens,
            templates=("specs/rules",),
            settings=("max_rules", "inverse_cases"),
        ),
        Stage(
            name="inverse",
            label=Key("inverse rules"),
            part="extract",
            role="author",
            requests=lambda work: 0,  # but for rules that came without one
            request_tokens=lambda work: 300,
            answer_tokens=lambda work: 40,
            templates=("specs/inverse",),
            settings=("inverse_cases",),
        ),
        Stage(
            name="checks",
            label=Key("checks"),
            part="extract",
            role="author",
            requests=lambda work: ask_checks.requests_for(work.rules) if work.settings.checks else 0,
            request_tokens=lambda work: work.prompt_tokens + 1100 + 40 * work.rules,
            answer_tokens=lambda work: ceil(work.rules * TYPICAL_CHECKS / max(1, ask_checks.requests_for(work.rules))),
            templates=("specs/checks",),
            settings=("checks",),
            refusals=True,
        ),
        Stage(
            name="groundedness",
            label=Key("groundedness"),
            part="extract",
            role="checker",
            requests=lambda work: ceil(work.rules / CLAIMS_PER_REQUEST) if work.settings.verify else 0,
            request_tokens=beyond_prompt(800),
            answer_tokens=lambda work: 60 * min(work.rules, CLAIMS_PER_REQUEST),
            templates=("specs/grounded",),
            settings=("verify",),
        ),
        Stage(
            name="cases",
            label=Key("cases"),
            part="generate",
            role="author",
            requests=lambda work: work.case_requests,
            request_tokens=_case_tokens,
            answer_tokens=_case_answer_tokens,
            templates=("cases/generate",),
            settings=(
                "cases_per_rule",
                "inverse_cases",
                "rules_per_request",
                "rounds",
                "scenarios",
                "samples",
                "samples_shown",
                "language",
            ),
            exact=True,
        ),
        Stage(
            name="expand",
            label=Key("longer variants"),
            part="generate",
            role="author",
            requests=lambda work: ceil(work.variants / expand.CASES_PER_REQUEST),
            request_tokens=_case_tokens,
            answer_tokens=lambda work: 2 * TYPICAL_CASE * min(work.variants, expand.CASES_PER_REQUEST),
            templates=("cases/expand",),
            settings=("expansion",),
        ),
        Stage(
            name="validity",
            label=Key("validity"),
            part="generate",
            role="author",
            requests=lambda work: (
                _read_at_once(work.new_cases) + _read_at_once(work.variants) if work.settings.validity else 0
            ),
            request_tokens=lambda work: 600 + validity.CASES_PER_REQUEST * TYPICAL_CASE,
            templates=("cases/validity",),
            settings=("validity",),
        ),
        Stage(
            name="rate",
            label=Key("ratings"),
            part="generate",
            role="author",
            requests=lambda work: ceil(work.rated / rate.CASES_PER_REQUEST),
            request_tokens=lambda work: (
                work.prompt_tokens + 700 + min(work.rated, rate.CASES_PER_REQUEST) * TYPICAL_CASE
            ),
            answer_tokens=lambda work: 25 * min(work.rated, rate.CASES_PER_REQUEST),
            templates=("cases/rate",),
        ),
        Stage(
            name="reference",
            label=Key("reference answers"),
            part="generate",
            role="reference",
            requests=lambda work: work.new_cases + work.variants,
            request_tokens=beyond_prompt(100),
            settings=("expected",),
        ),
        Stage(
            name="expected",
            label=Key("expected outputs"),
            part="generate",
            role="judge",
            requests=lambda work: work.new_cases + work.variants if work.settings.expected else 0,
            request_tokens=beyond_prompt(600),
            templates=("cases/expected",),
            settings=("expected",),
        ),
        Stage(
            name="baseline",
            label=Key("baseline"),
            part="baseline",
            role="author",
            requests=lambda work: 1,
            request_tokens=beyond_prompt(350),
            templates=("cases/baseline",),
            exact=True,
        ),
        Stage(
            name="output",
            label=Key("output"),
            part="run",
            role="model",
            requests=lambda work: work.outputs,
            request_tokens=beyond_prompt(100),
            settings=("repeats", "temperature", "max_tokens", "seed"),
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
        ),
        Stage(
            name="categories",
            label=Key("categories"),
            part="synthesize",
            role="author",
            requests=lambda work: work.category_requests,
            request_tokens=beyond_prompt(1200),
            answer_tokens=lambda work: 600,
            templates=("synthesis/categories",),
        ),
        Stage(
            name="criteria",
            label=Key("criteria"),
            part="synthesize",
            role="author",
            requests=lambda work: work.criteria_requests,
            request_tokens=beyond_prompt(1500),
            answer_tokens=lambda work: ceil(TYPICAL_CRITERION * work.criteria / max(1, work.criteria_requests)),
            templates=("synthesis/criteria",),
        ),
        Stage(
            name="infer",
            label=Key("criteria of the prompt"),
            part="synthesize",
            role="author",
            requests=lambda work: work.inferences,
            request_tokens=beyond_prompt(600),
            answer_tokens=lambda work: 2 * TYPICAL_CRITERION * suggest_criteria.MOST,
            templates=("synthesis/infer",),
            exact=True,
        ),
        Stage(
            name="notes",
            label=Key("criteria from notes"),
            part="synthesize",
            role="author",
            requests=lambda work: work.note_requests,
            request_tokens=beyond_prompt(700 + suggest_criteria.MOST_BAD * TYPICAL_ANSWER),
            answer_tokens=lambda work: 2 * TYPICAL_CRITERION * suggest_criteria.MOST,
            templates=("synthesis/notes",),
            exact=True,
        ),
        Stage(
            name="reword",
            label=Key("rewording"),
            part="synthesize",
            role="author",
            requests=lambda work: 0,  # but one for each that is asked for on the local page
            request_tokens=beyond_prompt(300 + TYPICAL_ANSWER),
            answer_tokens=lambda work: TYPICAL_CRITERION,
            templates=("synthesis/reword",),
            exact=True,
        ),
        Stage(
            name="candidates",
            label=Key("candidates"),
            part="synthesize",
            role="author",
            requests=lambda work: ceil(work.criteria / propose_candidates.BATCH) + work.criteria_alone,
            request_tokens=lambda work: (
                2 * work.prompt_tokens + 1700 + (8 * TYPICAL_ANSWER if work.criteria_alone else 0)
            ),
            answer_tokens=lambda work: (
                TYPICAL_CANDIDATES * max(min(work.criteria, propose_candidates.BATCH), 2 * bool(work.criteria_alone))
            ),
            templates=("synthesis/candidates",),
        ),
        Stage(
            name="implications",
            label=Key("implications"),
            part="synthesize",
            role="answerer",
            requests=lambda work: 0,  # how many pairs are left is known when candidates have been tried
            request_tokens=lambda work: 2500,
            answer_tokens=lambda work: 40 * implications.PAIRS_PER_REQUEST,
            templates=("synthesis/implications",),
            settings=("judge",),
        ),
    )
}


def register(stage: Stage) -> Stage:
    """Adds a stage, in the place where it comes after those that are there; one of the same name is replaced."""
    _REGISTRY[stage.name] = stage
    return stage


def unregister(name: str) -> None:
    """Removes a stage that ``register`` added."""
    del _REGISTRY[name]


def stages(part: Part | None = None) -> tuple[Stage, ...]:
    """All stages, or those of one part, in the order in which they ask."""
    return tuple(stage for stage in _REGISTRY.values() if part in (None, stage.part))


def find(name: str) -> Stage:
    """The stage of this name.

    Raises:
        KeyError: there is none.
    """
    return _REGISTRY[name]


def names() -> tuple[str, ...]:
    """The names of all stages."""
    return tuple(_REGISTRY)


def instructed() -> tuple[str, ...]:
    """The names of the stages that take instructions: those that render a template."""
    return tuple(stage.name for stage in _REGISTRY.values() if stage.templates)


def label(name: str) -> str:
    """What progress calls a stage; its name where it is not registered, as in logs of other programs."""
    return shown(_REGISTRY[name].label) if name in _REGISTRY else name
