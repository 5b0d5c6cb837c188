"""Holm's step-down correction: many tests, one error rate."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.core.errors import InputError


def holm(p_values: Sequence[float], *, most: int | None = None) -> list[float]:
    """Adjusted p-values in the order given (Holm 1979, Scand. J. Statist. 6:65).

    Calling every hypothesis with an adjusted p <= alpha false makes any wrong call with probability alpha at
    most, however the tests depend on each other.

    Args:
        p_values: one per hypothesis.
        most: how many of the hypotheses can be true at once, where that is known to be fewer than all (Shaffer 1986, J.
            Am. Stat. Assoc. 81:826, method 1).
    """
    if any(not 0.0 <= p <= 1.0 for p in p_values):
        raise InputError("A p-value lies outside 0 to 1: give the p-values of the tests.")
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, min(len(order) - rank, most or len(order)) * p_values[i]))
        adjusted[i] = running
    return adjusted
