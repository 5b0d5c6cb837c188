"""What differences between models a suite can show at best, in words, before anything is paid."""

from __future__ import annotations

from collections.abc import Iterator

from promptpex.codecs.wording import plural
from promptpex.config import Settings
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
        return "There are no cases, so nothing can be shown."
    alpha = round(1.0 - settings.confidence, 12)
    shown = smallest_shown(
        cases, len(session.roles.models()), alpha, tolerance=settings.tolerance, rate=_rate(settings)
    )
    about = "about " if guessed else ""
    return " ".join(_sentences(shown, f"{about}{plural(cases, 'case')}", settings.repeats))


def known_within(settings: Settings, cases: int) -> str:
    """How near a model's share is known with so many cases, such as ``13 points``."""
    alpha = round(1.0 - settings.confidence, 12)
    shown = smallest_shown(cases, 1, alpha, tolerance=settings.tolerance, rate=_rate(settings))
    return _points(shown.half_width)


def _rate(settings: Settings) -> float:
    """An assumed non-compliance that leaves room to be worse by the tolerance."""
    return min(TYPICAL_RATE, 1.0 - settings.tolerance)


def _sentences(shown: Resolution, cases: str, repeats: int) -> Iterator[str]:
    points, rate = f"{100 * shown.tolerance:g} points", f"{100 * shown.rate:g}%"
    if shown.models == 1:
        yield f"With {cases} the share of a model at {rate} is known to about {_points(shown.half_width)} either way."
    else:
        gap = f"no gap under {_points(shown.gap)} can be shown" if shown.gap else "no gap at all can be shown"
        tie = f"no tie within less than {_points(shown.tie)}" if shown.tie else "no tie at all"
        yield f"With {cases} and {shown.models} models {gap} and {tie}."
        least = (
            f"To show {points} takes at least {shown.cases_to_call} cases for a gap and {shown.cases_to_tie} for a tie"
        )
        if shown.typical_to_call and shown.typical_to_tie:
            likely = f"about {_about(shown.typical_to_call)} and {_about(shown.typical_to_tie)}"
            least += f"; models that fail {rate} of the cases, independently of each other, take {likely}"
        yield f"{least}."
    if repeats > 1:
        yield "Repeats make a case surer, but add no cases."


def _points(share: float) -> str:
    return f"{100 * share:.2g} points"


def _about(cases: int) -> str:
    return f"{float(f'{cases:.2g}'):,.0f}"
