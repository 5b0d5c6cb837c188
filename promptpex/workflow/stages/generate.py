"""The stages of ``generate``."""

from __future__ import annotations

from math import ceil

from promptpex.cases import expand, rate, validity
from promptpex.core.translation import Key
from promptpex.workflow.stages.stage import Stage, beyond_prompt
from promptpex.workflow.workload import Workload

TYPICAL_CASE = 90
"""Tokens of a new case in an author's answer, with its aim and reasoning. A rough figure."""


def _case_tokens(work: Workload) -> int:
    return work.case_tokens or work.prompt_tokens + 900


def _read_at_once(cases: int) -> int:
    """Requests by which a judge reads so many cases for their validity."""
    return ceil(cases / validity.CASES_PER_REQUEST)


def _case_answer_tokens(work: Workload) -> int:
    return ceil(work.new_cases * TYPICAL_CASE / max(1, work.case_requests))


STAGES: tuple[Stage, ...] = (
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
        request_tokens=lambda work: work.prompt_tokens + 700 + min(work.rated, rate.CASES_PER_REQUEST) * TYPICAL_CASE,
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
)
