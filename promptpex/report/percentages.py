"""Shares, intervals and lists as text: every report writes them alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from promptpex.core.translation import Key, digits, tr
from promptpex.stats import Interval

SMALL, ALMOST_ALL = 0.0995, 0.995
"""Below the one and above the other a share is shown with a digit after the point: 9.9%, but 10%."""

TableRow = Mapping[str, Any]
"""A row of a table as plain data."""

FINEST = 6
"""Digits after the point at most; no suite is large enough for more."""


def confidence_interval(low: float, high: float, confidence: float) -> str:
    """A confidence interval as text: ``95% CI 17–41%``."""
    return tr("{level} CI {ends}", level=as_given(confidence), ends=ends(low, high))


def percent(share: float) -> str:
    """A share as a percentage, with a digit after the point where it is small. Every report rounds so."""
    return digits(f"{rounded_share(share)}%")


def at_least(share: float, bound: object) -> str:
    """A share, said to be a lower bound where it is one; ``0 known`` where that says nothing."""
    if bound and share <= 0.0:
        return tr("0 known")
    return tr("at least {share}", share=percent(share)) if bound else percent(share)


def marked(share: float, bound: object) -> str:
    """The same in short: ``≥27%``."""
    return f"≥{percent(share)}" if bound and share > 0.0 else at_least(share, bound)


def as_given(limit: float) -> str:
    """A limit as a percentage, with all the digits that it was given."""
    return digits(f"{100 * limit:g}%")


def ends(low: float, high: float) -> str:
    """The ends of an interval as percentages."""
    return digits(f"{rounded_share(low)}–{rounded_share(high)}%")


def with_ends(share: float, low: float, high: float) -> str:
    """A share with the ends of its interval: ``27% (17–41%)``."""
    return f"{percent(share)} ({ends(low, high)})"


def interval_or_unknown(one: Interval) -> str:
    """An estimate with the ends of its interval; ``unknown`` where nothing was counted."""
    return tr("unknown") if one.estimate is None else with_ends(one.estimate, one.low, one.high)


def points_apart(difference: float | None, low: float | None, high: float | None, *, unit: str = "") -> str:
    """A difference with its interval, in percentage points: ``+12 (-3 to +27)``; what there is of both, or a dash."""
    if low is None or high is None:
        return "–" if difference is None else f"{100 * difference:+z.0f}{unit}"
    ends = tr("({low} to {high})", low=f"{100 * low:+z.0f}", high=f"{100 * high:+z.0f}")
    return ends if difference is None else f"{100 * difference:+z.0f}{unit} {ends}"


def kappa_with_ends(row: TableRow) -> str:
    """An agreement beyond chance with its interval: ``0.62 (0.31 to 0.84)``."""
    kappa, low, high = (digits(f"{row[name]:z.2f}") for name in ("kappa", "kappa_low", "kappa_high"))
    return f"{kappa} {tr('({low} to {high})', low=low, high=high)}"


def limits_of_choice(coverage: float, ffr: float) -> str:
    """What a choice of assertions has to keep, as part of a sentence; a coverage of 0 asks for nothing."""
    if coverage <= 0.0:
        return tr("FFR of at most {ffr}", ffr=as_given(ffr))
    return tr(
        "coverage of at least {coverage} and FFR of at most {ffr}", coverage=as_given(coverage), ffr=as_given(ffr)
    )


_NOT_KEPT = (
    (
        Key("The coverage limit is not kept on outputs held out: {share} against {limit} ({some} of {all} caught)."),
        Key("The coverage limit is not kept: {share} against {limit} ({some} of {all} caught)."),
    ),
    (
        Key("The FFR limit is not kept on outputs held out: {share} against {limit} ({some} of {all} flagged)."),
        Key("The FFR limit is not kept: {share} against {limit} ({some} of {all} flagged)."),
    ),
)


_Shares = tuple[Interval | None, Interval | None]
"""Coverage and FFR."""


def limits_not_kept(limits: tuple[float, float], held_out: _Shares, on_all: _Shares) -> list[str]:
    """That a choice of assertions does not keep its limits on coverage and FFR, a sentence each.

    Args:
        held_out, on_all: coverage and FFR on outputs held out, and on those that it was made on; the first that is
            beyond the limit is named.
    """
    sentences: list[str] = []
    places = zip(held_out, on_all, strict=True)
    for keys, sign, limit, intervals in zip(_NOT_KEPT, (-1, 1), limits, places, strict=True):
        beyond = (
            key.tr(share=percent(share), limit=as_given(limit), some=round(share * one.n), all=one.n)
            for key, one in zip(keys, intervals, strict=True)
            if one is not None and (share := one.estimate) is not None and sign * share > sign * limit
        )
        sentences += islice(beyond, 1)
    return sentences


def rounded_share(share: float) -> str:
    """In percent; never 0 or 100 for what is only near it, but for a millionth of a percent."""
    edge = min(share, 1.0 - share)
    if round(100 * edge, FINEST) <= 0.0:
        return f"{100 * share:.0f}"
    digits = 0 if SMALL <= share <= ALMOST_ALL else 1
    while round(100 * edge, digits) == 0.0 and digits < FINEST:
        digits += 1
    return f"{100 * share:.{digits}f}".removesuffix(".0")


def listed(names: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    *head, last = list(names)
    return tr("{names} and {last}", names=", ".join(head), last=last) if head else last
