"""Tables: a run as tidy DataFrames. The one home of pandas."""

from __future__ import annotations

from promptpex.tables.agreement import AGREEMENT_COLUMNS, DISAGREEMENT_COLUMNS, agreements, disagreements
from promptpex.tables.comparison import CHANGED_COLUMNS, COMPARISON_COLUMNS, changed, comparison
from promptpex.tables.counts import Counted, Weights, check_weights, counted, weighed
from promptpex.tables.discrimination import Discrimination, discrimination
from promptpex.tables.frames import (
    OUTPUT_COLUMNS,
    RULE_OUTCOME_COLUMNS,
    VERDICT_COLUMNS,
    judged,
    outputs,
    row_verdicts,
    rule_outcomes,
    typed,
    verdicts,
)
from promptpex.tables.judges import JUDGE_COLUMNS, judges
from promptpex.tables.proportions import KIND_COLUMNS, SCENARIO_COLUMNS, SHARE_COLUMNS, kinds, scenarios
from promptpex.tables.rankings import Question, Standing, Standings, standings
from promptpex.tables.repeats import FLICKER_COLUMNS, STABILITY_COLUMNS, TWIN_COLUMNS, flickers, repeats, twins
from promptpex.tables.summary import MODEL_COLUMNS, RULE_COLUMNS, models, rules

__all__ = [
    "AGREEMENT_COLUMNS",
    "Counted",
    "Weights",
    "check_weights",
    "counted",
    "weighed",
    "CHANGED_COLUMNS",
    "COMPARISON_COLUMNS",
    "DISAGREEMENT_COLUMNS",
    "Discrimination",
    "FLICKER_COLUMNS",
    "JUDGE_COLUMNS",
    "KIND_COLUMNS",
    "MODEL_COLUMNS",
    "OUTPUT_COLUMNS",
    "Question",
    "RULE_COLUMNS",
    "RULE_OUTCOME_COLUMNS",
    "SCENARIO_COLUMNS",
    "SHARE_COLUMNS",
    "STABILITY_COLUMNS",
    "Standing",
    "Standings",
    "TWIN_COLUMNS",
    "VERDICT_COLUMNS",
    "agreements",
    "changed",
    "comparison",
    "disagreements",
    "discrimination",
    "flickers",
    "judged",
    "judges",
    "kinds",
    "models",
    "outputs",
    "repeats",
    "row_verdicts",
    "rule_outcomes",
    "rules",
    "scenarios",
    "standings",
    "twins",
    "typed",
    "verdicts",
]
