"""The stages that write: of ``extract``, ``generate`` and ``synthesize``, and of the page on which people grade."""

from __future__ import annotations

from math import ceil

from promptpex.cases import expand, rate, validity
from promptpex.core.translation import Key
from promptpex.specs import ask_checks
from promptpex.specs.groundedness import RULES_PER_REQUEST as CLAIMS_PER_REQUEST
from promptpex.specs.propose_rules import RULES_PER_REQUEST
from promptpex.synthesis.proposing import criteria, propose_candidates
from promptpex.synthesis.results import implications
from promptpex.workflow.stages.stage import TYPICAL_ANSWER, Stage, Workload, beyond_prompt, counted

TYPICAL_RULE = 70
"""Tokens of a rule with its source in an author's answer. A rough figure."""

TYPICAL_CHECKS = 150
"""Tokens of an answer with the checks of one rule and its examples, also where one in three is asked for again."""


def _rules_answer_tokens(work: Workload) -> int:
    each = TYPICAL_RULE * (1.5 if work.settings.inverse_cases else 1)
    return ceil(min(work.rules, RULES_PER_REQUEST) * each)


TYPICAL_CASE = 90
"""Tokens of a new case in an author's answer, with its aim and reasoning. A rough figure."""


def _case_tokens(work: Workload) -> int:
    return work.case_tokens or work.prompt_tokens + 900


def _read_at_once(cases: int) -> int:
    return ceil(cases / validity.CASES_PER_REQUEST)


TYPICAL_CRITERION = 60
"""Tokens of a criterion with its source in an author's answer. A rough figure."""

TYPICAL_CANDIDATES = 250
"""Tokens of the candidates of one criterion in an author's answer, also where one in three is asked for again."""


STAGES: tuple[Stage, ...] = (
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
        answer_tokens=lambda work: ceil(work.new_cases * TYPICAL_CASE / max(1, work.case_requests)),
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
    Stage(
        name="categories",
        label=Key("categories"),
        part="synthesize",
        role="author",
        requests=counted("categories"),
        request_tokens=beyond_prompt(1200),
        answer_tokens=lambda work: 600,
        templates=("synthesis/categories",),
    ),
    Stage(
        name="criteria",
        label=Key("criteria"),
        part="synthesize",
        role="author",
        requests=counted("criteria"),
        request_tokens=beyond_prompt(1500),
        answer_tokens=lambda work: ceil(TYPICAL_CRITERION * work.criteria / max(1, work.requests.get("criteria", 0))),
        templates=("synthesis/criteria",),
    ),
    Stage(
        name="infer",
        label=Key("criteria of the prompt"),
        part="synthesize",
        role="author",
        requests=counted("infer"),
        request_tokens=beyond_prompt(600),
        answer_tokens=lambda work: 2 * TYPICAL_CRITERION * criteria.MOST,
        templates=("synthesis/infer",),
        exact=True,
    ),
    Stage(
        name="notes",
        label=Key("criteria from notes"),
        part="synthesize",
        role="author",
        requests=counted("notes"),
        request_tokens=beyond_prompt(700 + criteria.MOST_BAD * TYPICAL_ANSWER),
        answer_tokens=lambda work: 2 * TYPICAL_CRITERION * criteria.MOST,
        templates=("synthesis/notes",),
        exact=True,
    ),
    Stage(
        name="candidates",
        label=Key("candidates"),
        part="synthesize",
        role="author",
        requests=lambda work: ceil(work.criteria / propose_candidates.BATCH) + work.criteria_alone,
        request_tokens=lambda work: 2 * work.prompt_tokens + 1700 + (8 * TYPICAL_ANSWER if work.criteria_alone else 0),
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
