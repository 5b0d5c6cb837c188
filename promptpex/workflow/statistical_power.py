"""What differences between models a suite can show at best, in words, before anything is paid."""

from __future__ import annotations

from collections.abc import Iterator

from promptpex.config import Settings
from promptpex.core.translation import digits, tr, tr_n
from promptpex.report.headline import rounded_cases
from promptpex.stats import Resolution, smallest_shown
from promptpex.workflow.session import Session

TYPICAL_RATE = 0.1
"""Non-compliance of a model of which nothing is known yet."""


def detectable(session: Session, cases: int, *, guessed: bool = False) -> str:
    """What so many cases can show of these models at best.

    Args:
        guessed: whether the cases are still to be made, so that their number is a guess.
    """
    settings = session.settings
    if not cases:
        return tr("There are no cases, so nothing can be shown.")
    alpha = round(1.0 - settings.confidence, 12)
    smallest = smallest_shown(
        cases, len(session.roles.models()), alpha, tolerance=settings.tolerance, rate=_rate(settings)
    )
    words = tr_n("{count} case", "{count} cases", cases)
    return " ".join(_sentences(smallest, tr("about {number}", number=words) if guessed else words, settings.repeats))


def known_within(settings: Settings, cases: int) -> str:
    """How near a model's share is known with so many cases, such as ``13 points``."""
    alpha = round(1.0 - settings.confidence, 12)
    smallest = smallest_shown(cases, 1, alpha, tolerance=settings.tolerance, rate=_rate(settings))
    return _points(smallest.half_width)


def _rate(settings: Settings) -> float:
    """An assumed non-compliance that leaves room to be worse by the tolerance."""
    return min(TYPICAL_RATE, 1.0 - settings.tolerance)


def _sentences(shown: Resolution, cases: str, repeats: int) -> Iterator[str]:
    rate = digits(f"{100 * shown.rate:g}%")
    if shown.models == 1:
        yield tr(
            "With {cases}, the share of a model at {rate} is known to within about {points} either way.",
            cases=cases,
            rate=rate,
            points=_points(shown.half_width),
        )
    else:
        gap = tr("no gap under {points} can be shown", points=_points(shown.gap)) if shown.gap else ""
        tie = tr("no tie within less than {points}", points=_points(shown.tie)) if shown.tie else tr("no tie at all")
        yield tr(
            "With {cases} and {models} models, {gap} and {tie}.",
            cases=cases,
            models=shown.models,
            gap=gap or tr("no gap at all can be shown"),
            tie=tie,
        )
        yield f"{_least(shown, rate)}."
    if repeats > 1:
        yield tr("Repeats make the result of a case more certain, but add no cases.")


def _least(shown: Resolution, rate: str) -> str:
    """How many cases it takes to show the tolerance."""
    least = tr(
        "To show {points} takes at least {gap} cases for a gap and {tie} for a tie",
        points=tr("{count} points", count=digits(f"{100 * shown.tolerance:g}")),
        gap=shown.cases_to_call,
        tie=shown.cases_to_tie,
    )
    if not (shown.typical_to_call and shown.typical_to_tie):
        return least
    likely = tr(
        "models that fail {rate} of the cases, independently of each other, take about {gap} and {tie}",
        rate=rate,
        gap=rounded_cases(shown.typical_to_call),
        tie=rounded_cases(shown.typical_to_tie),
    )
    return f"{least}; {likely}"


def _points(share: float) -> str:
    return tr("{count} points", count=digits(f"{100 * share:.2g}"))
