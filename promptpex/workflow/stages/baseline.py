"""The stage of ``generate --baseline-cases``: cases from the prompt alone, to compare with."""

from __future__ import annotations

from promptpex.core.translation import Key
from promptpex.workflow.stages.stage import Stage, beyond_prompt

STAGES: tuple[Stage, ...] = (
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
)
