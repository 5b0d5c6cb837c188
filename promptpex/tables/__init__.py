"""Tables: a run as tidy DataFrames. The one home of pandas."""

from __future__ import annotations

from promptpex.tables.accuracy import expected_outcomes
from promptpex.tables.across_prompts import OVER_PROMPTS_COLUMNS, PROMPT_MODEL_COLUMNS, over_prompts, prompt_models
from promptpex.tables.agreements import AGREEMENT_COLUMNS, DISAGREEMENT_COLUMNS, agreements, disagreements
from promptpex.tables.calibration_states import CALIBRATION_COLUMNS, calibration_states, unchecked_judges
from promptpex.tables.compare_runs import CHANGED_COLUMNS, COMPARISON_COLUMNS, changed, comparison
from promptpex.tables.corrected_by_grades import (
    CORRECTED_CHANGE_COLUMNS,
    CORRECTION_COLUMNS,
    corrected_changes,
    corrected_rankings,
    corrections,
    with_corrections,
)
from promptpex.tables.counts_per_case import Cells, Counted, Weights, check_weights, counted, weighed
from promptpex.tables.database import RunDatabase
from promptpex.tables.discrimination import Discrimination, discrimination, untriggered
from promptpex.tables.judge_failures import JUDGE_COLUMNS, judges
from promptpex.tables.metric_changes import METRIC_CHANGE_COLUMNS, metric_changes
from promptpex.tables.metric_rankings import metric_rankings
from promptpex.tables.metrics import (
    LOWEST_COLUMNS,
    METRIC_COLUMNS,
    MetricCounts,
    lowest_scores,
    metrics,
    scored_outputs,
    with_metrics,
)
from promptpex.tables.noise import NOISE_COLUMNS, OwnedRows, noise
from promptpex.tables.paired_cells import cells_of_both
from promptpex.tables.peoples_grades import PeoplesGrades
from promptpex.tables.proportions import (
    CASE_TYPE_COLUMNS,
    PROPORTION_COLUMNS,
    SCENARIO_COLUMNS,
    by_case_type,
    scenarios,
)
from promptpex.tables.rankings import (
    RANKED_BY,
    Decision,
    RankingOptions,
    RankingOutcome,
    Rankings,
    rankings,
    worse_so_far,
)
from promptpex.tables.regressions import REGRESSION_COLUMNS, blessed_outputs, counts_of_cases, regressions
from promptpex.tables.repeats import (
    FLAKY_COLUMNS,
    INCONSISTENT_COLUMNS,
    STABILITY_COLUMNS,
    flaky,
    inconsistent_verdicts,
    repeats,
)
from promptpex.tables.rule_changes import RULE_CHANGE_COLUMNS, rule_changes
from promptpex.tables.rule_counts import RuleCounts
from promptpex.tables.run_rows import (
    OUTPUT_COLUMNS,
    SCORE_COLUMNS,
    VERDICT_COLUMNS,
    AnyRun,
    Rows,
    StoredRun,
    database_of,
    outputs,
    rows_of,
    score_rows,
    scores,
    table_of,
    verdict_rows,
    verdicts,
)
from promptpex.tables.summary import MODEL_COLUMNS, RULE_COLUMNS, models, rules, without_claims
from promptpex.tables.table import Table, columns_of, plain_values, records
from promptpex.tables.wrong_answers import (
    ANSWER_COLUMNS,
    CONFUSION_COLUMNS,
    answer_counts,
    confusions,
)

__all__ = [
    "AnyRun",
    "Cells",
    "OwnedRows",
    "Rows",
    "RunDatabase",
    "StoredRun",
    "Table",
    "database_of",
    "rows_of",
    "scored_outputs",
    "score_rows",
    "table_of",
    "columns_of",
    "verdict_rows",
    "MetricCounts",
    "RuleCounts",
    "without_claims",
    "RULE_CHANGE_COLUMNS",
    "rule_changes",
    "NOISE_COLUMNS",
    "OVER_PROMPTS_COLUMNS",
    "PROMPT_MODEL_COLUMNS",
    "over_prompts",
    "prompt_models",
    "noise",
    "REGRESSION_COLUMNS",
    "blessed_outputs",
    "counts_of_cases",
    "regressions",
    "CALIBRATION_COLUMNS",
    "CORRECTED_CHANGE_COLUMNS",
    "CORRECTION_COLUMNS",
    "PeoplesGrades",
    "calibration_states",
    "corrected_changes",
    "corrected_rankings",
    "corrections",
    "with_corrections",
    "ANSWER_COLUMNS",
    "CONFUSION_COLUMNS",
    "answer_counts",
    "confusions",
    "LOWEST_COLUMNS",
    "METRIC_CHANGE_COLUMNS",
    "METRIC_COLUMNS",
    "lowest_scores",
    "metric_changes",
    "metric_rankings",
    "untriggered",
    "plain_values",
    "records",
    "metrics",
    "with_metrics",
    "expected_outcomes",
    "RANKED_BY",
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
    "FLAKY_COLUMNS",
    "JUDGE_COLUMNS",
    "CASE_TYPE_COLUMNS",
    "MODEL_COLUMNS",
    "OUTPUT_COLUMNS",
    "RankingOptions",
    "RULE_COLUMNS",
    "SCENARIO_COLUMNS",
    "SCORE_COLUMNS",
    "PROPORTION_COLUMNS",
    "STABILITY_COLUMNS",
    "Decision",
    "RankingOutcome",
    "Rankings",
    "INCONSISTENT_COLUMNS",
    "VERDICT_COLUMNS",
    "agreements",
    "cells_of_both",
    "changed",
    "comparison",
    "disagreements",
    "discrimination",
    "flaky",
    "judges",
    "by_case_type",
    "models",
    "outputs",
    "repeats",
    "rules",
    "scenarios",
    "scores",
    "rankings",
    "inconsistent_verdicts",
    "unchecked_judges",
    "verdicts",
    "worse_so_far",
]


def __dir__() -> list[str]:
    """The public names: all that completion offers."""
    return sorted(__all__)
