"""Whether there are enough good and bad examples for a choice, and which number would be enough."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from promptpex.core.records import Example
from promptpex.core.translation import stored

CONFIDENCE = 0.95
"""Of the intervals that shares of a choice are given with."""

SHOWN_AT_MOST = 0.95
"""Shares nearer to 1 are asked of no number of examples: 100% cannot be shown by any."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Too few examples of a kind.

    Attributes:
        state: ``no-good`` and ``no-bad`` leave nothing to choose by; ``few-good`` and ``few-bad`` leave figures that
            even the best outcome does not show.
        there, wanted: how many there are, and how many would do.
        sentence: the same in words, with why.
    """

    state: Literal["no-good", "no-bad", "few-good", "few-bad"]
    there: int
    wanted: int
    sentence: str


def shortages_of(examples: Iterable[Example], *, coverage: float, ffr: float) -> tuple[Shortage, ...]:
    """What the labelled examples are too few for, at these thresholds."""
    labels = [example.label for example in examples]
    return shortages(labels.count("good"), labels.count("bad"), coverage=coverage, ffr=ffr)


def shortages(good: int, bad: int, *, coverage: float, ffr: float) -> tuple[Shortage, ...]:
    """What so many good and bad examples are too few for.

    Enough is where the best outcome would show what is asked for: that none of the good examples is flagged, that the
    true rate is at most ``ffr``; that all bad ones are caught, that the true coverage is at least ``coverage``; by the
    exact interval (Clopper and Pearson 1934).
    """
    pass_rate, caught = min(SHOWN_AT_MOST, 1.0 - ffr), min(SHOWN_AT_MOST, coverage)
    enough_good, enough_bad = least_shown(pass_rate), least_shown(caught)
    short = []
    if good < enough_good:
        why = stored(
            "if none of these is flagged, at most {share} of all good outputs are", share=f"{1.0 - pass_rate:.0%}"
        )
        short.append(_shortage("good", good, enough_good, why))
    if bad < enough_bad:
        why = stored("if all of these are caught, at least {share} of all bad outputs are", share=f"{caught:.0%}")
        short.append(_shortage("bad", bad, enough_bad, why))
    return tuple(short)


def least_shown(share: float) -> int:
    """How many successes without a failure show that at least this share, below 1, are successes."""
    if share <= 0.0:
        return 1
    return max(1, math.ceil(math.log((1.0 - CONFIDENCE) / 2.0) / math.log(share) - 1e-9))


def _shortage(kind: Literal["good", "bad"], there: int, wanted: int, why: str) -> Shortage:
    one, several = _FEW[kind]
    words = _NONE[kind] if there == 0 else one if there == 1 else several
    sentence = words.format(count=there, least=wanted, reason=why, level=f"{CONFIDENCE:.0%}")
    if there == 0:
        return Shortage("no-good" if kind == "good" else "no-bad", there, wanted, sentence)
    return Shortage("few-good" if kind == "good" else "few-bad", there, wanted, sentence)


_NONE = {
    "good": stored(
        "there is no good example, so there is no rate of false alarms: label at least {least}: {reason}, "
        "by the exact {level} interval"
    ),
    "bad": stored(
        "there is no bad example, so there is no coverage: label at least {least}: {reason}, "
        "by the exact {level} interval"
    ),
}
_FEW = {
    "good": (
        stored("{count} good example shows little: label at least {least}: {reason}, by the exact {level} interval"),
        stored("{count} good examples show little: label at least {least}: {reason}, by the exact {level} interval"),
    ),
    "bad": (
        stored("{count} bad example shows little: label at least {least}: {reason}, by the exact {level} interval"),
        stored("{count} bad examples show little: label at least {least}: {reason}, by the exact {level} interval"),
    ),
}
