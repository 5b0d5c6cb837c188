"""The stages of ``synthesize``, and of the local page while people grade."""

from __future__ import annotations

from math import ceil

from promptpex.core.translation import Key
from promptpex.synthesis.proposing import propose_candidates, suggest_criteria
from promptpex.synthesis.results import implications
from promptpex.workflow.stages.stage import TYPICAL_ANSWER, Stage, beyond_prompt, counted

TYPICAL_CRITERION = 60
"""Tokens of a criterion with its source in an author's answer. A rough figure."""
TYPICAL_CANDIDATES = 250
"""Tokens of the candidates of one criterion in an author's answer, also where one in three is asked for again."""

STAGES: tuple[Stage, ...] = (
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
        answer_tokens=lambda work: 2 * TYPICAL_CRITERION * suggest_criteria.MOST,
        templates=("synthesis/infer",),
        exact=True,
    ),
    Stage(
        name="notes",
        label=Key("criteria from notes"),
        part="synthesize",
        role="author",
        requests=counted("notes"),
        request_tokens=beyond_prompt(700 + suggest_criteria.MOST_BAD * TYPICAL_ANSWER),
        answer_tokens=lambda work: 2 * TYPICAL_CRITERION * suggest_criteria.MOST,
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
