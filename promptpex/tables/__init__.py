"""Tables: a run as tidy DataFrames. The one home of pandas."""

from __future__ import annotations

from promptpex.tables.accuracy import expected_outcomes
from promptpex.tables.across_prompts import OVER_PROMPTS_COLUMNS, PROMPT_MODEL_COLUMNS, over_prompts, prompt_models
from promptpex.tables.agreement_counts import AGREEMENT_COLUMNS, AgreementCounts
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
from promptpex.tables.counts_per_case import Counted, Weights, check_weights, counted, weighed
from promptpex.tables.discrimination import Discrimination, discrimination, telling, untriggered
from promptpex.tables.frames import (
    OUTPUT_COLUMNS,
    RULE_OUTCOME_COLUMNS,
    SCORE_COLUMNS,
    VERDICT_COLUMNS,
    is_failing,
    judged,
    outputs,
    row_verdicts,
    rule_outcomes,
    scores,
    verdicts,
)
from promptpex.tables.judge_consistency import DISAGREEMENT_COLUMNS, Disagreements, agreements, disagreements
from promptpex.tables.judge_failures import JUDGE_COLUMNS, JudgeCounts, judges
from promptpex.tables.metric_changes import METRIC_CHANGE_COLUMNS, metric_changes
from promptpex.tables.metric_counts import MetricCounts
from promptpex.tables.metric_rankings import metric_rankings
from promptpex.tables.metrics import (
    LOWEST_COLUMNS,
    METRIC_COLUMNS,
    LowestScores,
    lowest_scores,
    metrics,
    with_metrics,
    with_scores,
)
from promptpex.tables.noise import NOISE_COLUMNS, noise, with_owner
from promptpex.tables.outputs_without_texts import COLUMNS_OF_FIGURES, FigureRows, answers, has_one_twice
from promptpex.tables.paired_cells import cells_of_both
from promptpex.tables.part_tables import PartTables
from promptpex.tables.peoples_grades import PeoplesGrades
from promptpex.tables.plain_values import plain_values, records
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
    EqualTexts,
    VerdictsOnEqualTexts,
    flaky,
    inconsistent_verdicts,
    repeats,
    with_texts_of,
)
from promptpex.tables.rule_changes import RULE_CHANGE_COLUMNS, rule_changes
from promptpex.tables.rule_counts import RuleCounts
from promptpex.tables.summary import MODEL_COLUMNS, RULE_COLUMNS, models, rules, rules_of, without_claims
from promptpex.tables.wrong_answers import (
    ANSWER_COLUMNS,
    CONFUSION_COLUMNS,
    AnswerCounts,
    Confusions,
    answer_counts,
    confusions,
)

__all__ = [
    "AgreementCounts",
    "AnswerCounts",
    "Confusions",
    "Disagreements",
    "COLUMNS_OF_FIGURES",
    "FigureRows",
    "answers",
    "JudgeCounts",
    "LowestScores",
    "MetricCounts",
    "PartTables",
    "RuleCounts",
    "EqualTexts",
    "VerdictsOnEqualTexts",
    "has_one_twice",
    "without_claims",
    "rules_of",
    "telling",
    "with_texts_of",
    "RULE_CHANGE_COLUMNS",
    "rule_changes",
    "NOISE_COLUMNS",
    "OVER_PROMPTS_COLUMNS",
    "PROMPT_MODEL_COLUMNS",
    "over_prompts",
    "prompt_models",
    "noise",
    "with_owner",
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
    "with_scores",
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
    "RULE_OUTCOME_COLUMNS",
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
    "judged",
    "judges",
    "by_case_type",
    "models",
    "outputs",
    "repeats",
    "is_failing",
    "row_verdicts",
    "rule_outcomes",
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
