"""The stages of ``extract``."""

from __future__ import annotations

from math import ceil

from promptpex.core.translation import Key
from promptpex.specs import ask_checks
from promptpex.specs.groundedness import RULES_PER_REQUEST as CLAIMS_PER_REQUEST
from promptpex.specs.propose_rules import RULES_PER_REQUEST
from promptpex.workflow.stages.stage import Stage, beyond_prompt
from promptpex.workflow.workload import Workload

TYPICAL_RULE = 70
"""Tokens of a rule with its source in an author's answer. A rough figure."""
TYPICAL_CHECKS = 150
"""Tokens of an answer with the checks of one rule and its examples, also where one in three is asked for again."""


def _rules_answer_tokens(work: Workload) -> int:
    """Of a request for rules, each with its source and, where cases aim at it, its inverse."""
    each = TYPICAL_RULE * (1.5 if work.settings.inverse_cases else 1)
    return ceil(min(work.rules, RULES_PER_REQUEST) * each)


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
)
