"""What others' code says, to hold ours against."""

from __future__ import annotations

from functools import cache

from tests.foreign import Foreign

stats = Foreign("scipy.stats")


@cache
def mcnemar_p(first_only: int, second_only: int) -> float:
    """McNemar's exact test by scipy: each pair that differs is the toss of a fair coin."""
    tosses = first_only + second_only
    return float(stats.binomtest(first_only, tosses, 0.5).pvalue) if tosses else 1.0
