"""Figures one can trust: shares, paired tests, places of models, agreement, sample sizes.

Pure functions of counts and columns; nothing here knows of files, models or runs. Proportions are shares in
[0, 1], differences are first minus second, intervals come as `Interval`, impossible arguments raise
`promptpex.core.errors.InputError`. numpy is imported inside the functions that need it.
"""

from __future__ import annotations

from promptpex.stats.agreement import Agreement
from promptpex.stats.clustered_agreement import clustered_agreement
from promptpex.stats.grid import Completion, Grid, rule_numbers
from promptpex.stats.group_sequential import level_at, looks_at
from promptpex.stats.holm import holm
from promptpex.stats.intervals import Interval, clopper_pearson
from promptpex.stats.korn_graubard import korn_graubard
from promptpex.stats.more_cases import MoreCases, more_cases
from promptpex.stats.pairs import Reading, difference_interval, more_failures_p, pair, statements, tie_p
from promptpex.stats.ppi import PpiMean, ppi_mean
from promptpex.stats.proportions import RULE_CORRELATION, repeat_correlation, share, share_interval
from promptpex.stats.repeats import flickers, pass_at_k, pass_hat_k, stability
from promptpex.stats.resolution import Resolution, smallest_shown
from promptpex.stats.sequential_selection import Race, over_looks, race, sides
from promptpex.stats.sign_flip import sign_flip_p
from promptpex.stats.suitability import (
    DEFAULT_TOLERANCE,
    ModelPlace,
    Suitability,
    corrected_worse,
    pair_tests,
    placed,
    suitability,
)
from promptpex.stats.two_sample import difference_of_intervals, groups_p

# A function and its file share a name where the file holds that one idea; the function wins on the room.
__all__ = [
    "Agreement",
    "Completion",
    "DEFAULT_TOLERANCE",
    "Grid",
    "Interval",
    "ModelPlace",
    "MoreCases",
    "PpiMean",
    "RULE_CORRELATION",
    "Race",
    "Reading",
    "Resolution",
    "Suitability",
    "clopper_pearson",
    "clustered_agreement",
    "corrected_worse",
    "difference_interval",
    "difference_of_intervals",
    "flickers",
    "groups_p",
    "holm",
    "korn_graubard",
    "level_at",
    "looks_at",
    "more_cases",
    "more_failures_p",
    "over_looks",
    "pair",
    "pair_tests",
    "pass_at_k",
    "pass_hat_k",
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
    "tie_p",
]
