"""Figures one can trust: intervals, paired tests, agreement, sample sizes, sequences, places of models.

Pure functions of counts and columns; nothing here knows of files, models or runs. Proportions are shares in
[0, 1], differences are first minus second, intervals come as `Interval`, impossible arguments raise
`promptpex.errors.InputError`. numpy is imported inside the few functions that draw or enumerate.
"""

from __future__ import annotations

from promptpex.stats.agreement import Agreement, agreement, cohens_kappa, kappa_bootstrap
from promptpex.stats.bounds import Bounds, bounds
from promptpex.stats.clustered import cluster_interval, clustered_share
from promptpex.stats.holm import holm
from promptpex.stats.independent import difference_of_intervals, fisher_exact
from promptpex.stats.intervals import Interval, clopper_pearson, wilson
from promptpex.stats.noninferiority import NonInferiority, non_inferiority
from promptpex.stats.paired import PairedCounts, count_pairs, mcnemar, newcombe_difference, tango_difference
from promptpex.stats.power import (
    cases_for_difference,
    cases_for_non_inferiority,
    mcnemar_power,
    more_cases_to_decide,
)
from promptpex.stats.ppi import PpiMean, ppi_mean
from promptpex.stats.racing import Standing, race, sides
from promptpex.stats.repeats import Flicker, Stability, flickers, majority, pass_hat_k, stability
from promptpex.stats.sequential import Side, anytime_p, paired_sequence, share_sequence, side_of
from promptpex.stats.suitability import (
    DEFAULT_TOLERANCE,
    ModelPlace,
    PairTest,
    Suitability,
    compare_with,
    suitability,
)

# A function and its file share a name where the file holds that one idea; the function wins on the room.
__all__ = [
    "Agreement",
    "Bounds",
    "DEFAULT_TOLERANCE",
    "Flicker",
    "Interval",
    "ModelPlace",
    "NonInferiority",
    "PairTest",
    "PairedCounts",
    "PpiMean",
    "Side",
    "Stability",
    "Standing",
    "Suitability",
    "agreement",
    "anytime_p",
    "bounds",
    "cases_for_difference",
    "cases_for_non_inferiority",
    "clopper_pearson",
    "cluster_interval",
    "clustered_share",
    "cohens_kappa",
    "compare_with",
    "count_pairs",
    "difference_of_intervals",
    "fisher_exact",
    "flickers",
    "holm",
    "kappa_bootstrap",
    "majority",
    "mcnemar",
    "mcnemar_power",
    "more_cases_to_decide",
    "newcombe_difference",
    "non_inferiority",
    "paired_sequence",
    "pass_hat_k",
    "ppi_mean",
    "race",
    "share_sequence",
    "side_of",
    "sides",
    "stability",
    "suitability",
    "tango_difference",
    "wilson",
]
