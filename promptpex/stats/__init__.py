"""Figures one can trust: shares, paired tests, places of models, agreement, sample sizes.

Pure functions of counts and columns; nothing here knows of files, models or runs. Proportions are shares in
[0, 1], differences are first minus second, intervals come as `Interval`, impossible arguments raise
`promptpex.errors.InputError`. numpy is imported inside the functions that need it.
"""

from __future__ import annotations

from promptpex.stats.agreement import Agreement, agreement, cohens_kappa
from promptpex.stats.clustered import cluster_interval
from promptpex.stats.clustered_agreement import clustered_agreement, kappa_bootstrap, kappa_delta
from promptpex.stats.grid import Completion, Grid, grid_of, rule_numbers
from promptpex.stats.holm import holm
from promptpex.stats.independent import difference_of_intervals, groups_p, permutation_p
from promptpex.stats.intervals import Interval, clopper_pearson, exact_bounds, wilson
from promptpex.stats.korn_graubard import korn_graubard
from promptpex.stats.looks import level_at, looks_at, overall_p
from promptpex.stats.more_cases import MoreCases, more_cases
from promptpex.stats.noninferiority import NonInferiority, non_inferiority, non_inferiority_p
from promptpex.stats.paired import (
    PairedCounts,
    count_pairs,
    mcnemar,
    newcombe_difference,
    tango_difference,
    tango_interval,
)
from promptpex.stats.pairs import Pair, difference_interval, more_failures_p, pair, statements, tie_p
from promptpex.stats.power import cases_for_difference, cases_for_non_inferiority, mcnemar_power, more_cases_to_decide
from promptpex.stats.ppi import PpiMean, ppi_mean
from promptpex.stats.repeats import Flicker, Stability, flickers, pass_at_k, pass_hat_k, stability
from promptpex.stats.resolution import Resolution, smallest_shown
from promptpex.stats.shares import RULE_CORRELATION, effective_cases, repeat_correlation, share, share_interval
from promptpex.stats.signflip import sign_flip_p
from promptpex.stats.stopping import Race, Side, over_looks, race, sides
from promptpex.stats.suitability import (
    DEFAULT_TOLERANCE,
    ModelPlace,
    Suitability,
    Tests,
    pair_tests,
    placed,
    suitability,
)

# A function and its file share a name where the file holds that one idea; the function wins on the room.
__all__ = [
    "Agreement",
    "Completion",
    "DEFAULT_TOLERANCE",
    "Flicker",
    "Grid",
    "Interval",
    "ModelPlace",
    "MoreCases",
    "NonInferiority",
    "Pair",
    "PairedCounts",
    "PpiMean",
    "RULE_CORRELATION",
    "Race",
    "Resolution",
    "Side",
    "Stability",
    "Suitability",
    "Tests",
    "agreement",
    "cases_for_difference",
    "cases_for_non_inferiority",
    "clopper_pearson",
    "cluster_interval",
    "clustered_agreement",
    "cohens_kappa",
    "count_pairs",
    "difference_interval",
    "difference_of_intervals",
    "effective_cases",
    "exact_bounds",
    "flickers",
    "grid_of",
    "groups_p",
    "holm",
    "kappa_bootstrap",
    "kappa_delta",
    "korn_graubard",
    "level_at",
    "looks_at",
    "mcnemar",
    "mcnemar_power",
    "more_cases",
    "more_cases_to_decide",
    "more_failures_p",
    "newcombe_difference",
    "non_inferiority",
    "non_inferiority_p",
    "over_looks",
    "overall_p",
    "pair",
    "pair_tests",
    "pass_at_k",
    "pass_hat_k",
    "permutation_p",
    "placed",
    "ppi_mean",
    "race",
    "repeat_correlation",
    "rule_numbers",
    "share",
    "share_interval",
    "sides",
    "sign_flip_p",
    "smallest_shown",
    "stability",
    "statements",
    "suitability",
    "tango_difference",
    "tango_interval",
    "tie_p",
    "wilson",
]
