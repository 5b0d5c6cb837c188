"""The checks on arguments that the functions of this package share."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.core.errors import InputError


def require_share(name: str, value: float) -> None:
    """Raise InputError unless ``value`` lies strictly between 0 and 1 (a confidence, an error rate, a power)."""
    if not 0.0 < value < 1.0:
        raise InputError(f"{name} is {value}: give a number strictly between 0 and 1.")


def require_counts(part: float, whole: float, *, what: str = "successes") -> None:
    """Raise InputError unless ``0 <= part <= whole``."""
    if not 0 <= part <= whole:
        raise InputError(f"{part} {what} among {whole} is impossible: give counts with 0 <= {what} <= n.")


def require_equal_length(first: str, n: int, second: str, m: int) -> None:
    """Raise InputError unless two columns have the same number of rows."""
    if n != m:
        raise InputError(f"{n} {first} but {m} {second}: give one of each per observation.")


def filled_clusters(totals: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The ones and the observations of each cluster that has observations.

    Raises:
        InputError: columns of different length, or more ones than observations.
    """
    require_equal_length("totals", len(totals), "sizes", len(sizes))
    filled = [(int(total), int(size)) for total, size in zip(totals, sizes, strict=True) if size]
    for total, size in filled:
        require_counts(total, size)
    return filled
