"""Figures one can trust: shares, paired tests, decisions about models, agreement, sample sizes.

Pure functions of counts and columns; nothing here depends on files, models or runs. Proportions are shares in
[0, 1], differences are first minus second, intervals come as `Interval`, impossible arguments raise
`promptpex.core.errors.InputError`. numpy is imported inside the functions that need it.
"""

from __future__ import annotations

from promptpex.stats.agreement import Agreement
from promptpex.stats.as_good_as_best import (
    DEFAULT_TOLERANCE,
    Losses,
    ModelDecision,
    PairTests,
    Suitability,
    corrected_worse,
    decide,
    pair_tests,
    suitability,
)
from promptpex.stats.clustered_agreement import clustered_agreement
from promptpex.stats.compare_two_models import Reading, difference_interval, more_failures_p, pair, statements, tie_p
from promptpex.stats.corrected_share import (
    FEW_GRADES,
    CorrectedShare,
    JudgedOutputs,
    corrected_difference,
    corrected_share,
    corrected_statements,
)
from promptpex.stats.drop_worse import Look, looks_at, shown_worse, suitability_after_looks
from promptpex.stats.flakiness import flaky, flip_rate, pass_at_k, pass_hat_k, variance_split
from promptpex.stats.fold_division import Fold, folds_of, held_out, worth_of_folds
from promptpex.stats.harmonic_mean import harmonic_mean
from promptpex.stats.holm import holm
from promptpex.stats.intervals import Interval, cases_to_tell, clopper_pearson, difference_of_intervals
from promptpex.stats.korn_graubard import korn_graubard
from promptpex.stats.means import open_mean_interval
from promptpex.stats.outcome_grid import Completion, Grid
from promptpex.stats.ppi_conditional import PpiConditional, PpiItem, ppi_conditional
from promptpex.stats.proportions import repeat_correlation, share, share_interval
from promptpex.stats.regression import cases_to_show, regression_p
from promptpex.stats.resolution import likely_gap
from promptpex.stats.run_noise import RunNoise, run_noise
from promptpex.stats.score_means import ScoreGrid, suitability_by_scores
from promptpex.stats.sign_flip import sign_flip_p

# A function and its file share a name where the file holds that one idea; in the package the name means the function.
__all__ = [
    "Agreement",
    "Completion",
    "CorrectedShare",
    "DEFAULT_TOLERANCE",
    "FEW_GRADES",
    "Fold",
    "Grid",
    "Interval",
    "JudgedOutputs",
    "Look",
    "Losses",
    "ModelDecision",
    "PairTests",
    "PpiConditional",
    "PpiItem",
    "Reading",
    "RunNoise",
    "ScoreGrid",
    "Suitability",
    "cases_to_show",
    "cases_to_tell",
    "clopper_pearson",
    "clustered_agreement",
    "corrected_difference",
    "corrected_share",
    "corrected_statements",
    "corrected_worse",
    "decide",
    "difference_interval",
    "difference_of_intervals",
    "flaky",
    "flip_rate",
    "folds_of",
    "harmonic_mean",
    "held_out",
    "holm",
    "korn_graubard",
    "likely_gap",
    "looks_at",
    "more_failures_p",
    "open_mean_interval",
    "pair",
    "pair_tests",
    "pass_at_k",
    "pass_hat_k",
    "ppi_conditional",
    "regression_p",
    "repeat_correlation",
    "run_noise",
    "share",
    "share_interval",
    "shown_worse",
    "sign_flip_p",
    "statements",
    "suitability",
    "suitability_after_looks",
    "suitability_by_scores",
    "tie_p",
    "variance_split",
    "worth_of_folds",
]


def __dir__() -> list[str]:
    """The public names: all that completion offers."""
    return sorted(__all__)
