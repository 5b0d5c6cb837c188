"""What the unscored could have changed: the best and the worst case, without any assumption about them."""

from __future__ import annotations

from dataclasses import dataclass

from promptpex.errors import InputError


@dataclass(frozen=True, slots=True)
class Bounds:
    """Non-compliance if every unscored output had passed (``best``) or failed (``worst``); ``None`` of nothing."""

    best: float | None
    worst: float | None
    scored: int
    unscored: int


def bounds(failed: int, passed: int, unscored: int) -> Bounds:
    """The range of non-compliance that the missing verdicts leave (Manski 1990, Am. Econ. Rev. 80:319)."""
    if min(failed, passed, unscored) < 0:
        raise InputError(f"A count is negative: {failed} failed, {passed} passed, {unscored} unscored.")
    n = failed + passed + unscored
    if n == 0:
        return Bounds(None, None, 0, 0)
    return Bounds(failed / n, (failed + unscored) / n, failed + passed, unscored)
