"""What a suite will show of models, in words, before anything is paid."""

from __future__ import annotations

from pathlib import Path

from promptpex.config import Settings
from promptpex.core.errors import RunError
from promptpex.core.translation import digits, tr, tr_n
from promptpex.report.percentages import ends, percent
from promptpex.report.runs import latest_of
from promptpex.report.runs.listing import listed
from promptpex.stats import likely_gap
from promptpex.stats.intervals import exact_bounds
from promptpex.stats.resolution import worth_of_repeats
from promptpex.workflow.session import Session

TYPICAL_RATE = 0.1
"""Non-compliance of a model of which nothing is known yet."""


def detectable(session: Session, prompt_name: str, cases: int, *, guessed: bool = False) -> str:
    """In one sentence which differences so many cases will probably show of these models.

    Args:
        prompt_name: of the prompt, whose last run says how often models break their rules.
        guessed: whether the cases are still to be made, so that their number is a guess.
    """
    settings, models = session.settings, [model.label for model in session.roles.models()]
    if not cases:
        return tr("There are no cases, so nothing can be shown.")
    words = tr_n("{count} case", "{count} cases", cases)
    words = tr("about {number}", number=words) if guessed else words
    run, rate = _rate(settings, prompt_name, models)
    basis = tr("as in run {run}", run=run) if run else tr("not known yet, taken to be {rate}", rate=percent(rate))
    if len(models) < 2:
        interval = interval_in_words(settings, cases, rate)
        return tr("{cases}: a share of {rate} will have an interval of about {ends}.", cases=words, **interval)
    alpha = round(1.0 - settings.confidence, 12)
    gaps = (likely_gap(cases, len(models), one, repeats=settings.repeats, alpha=alpha) for one in (rate, 0.0))
    gap = next((gap for gap in gaps if gap is not None), None)
    if gap is None:
        return tr("{cases}: not even the largest differences will probably show.", cases=words)
    return tr(
        "{cases}: differences of about {points} points or more will probably show, smaller ones may not (shares of "
        "failures {basis}).",
        cases=words,
        points=digits(f"{100 * gap:.0f}"),
        basis=basis,
    )


def interval_in_words(settings: Settings, cases: int, rate: float = TYPICAL_RATE) -> dict[str, str]:
    """A share and the interval that it has with so many cases, such as ``10%`` and ``2.1–27%``."""
    low, high = exact_bounds(rate, worth_of_repeats(cases, settings.repeats), settings.confidence)
    return {"rate": percent(rate), "ends": ends(low, high)}


def _rate(settings: Settings, prompt_name: str, models: list[str]) -> tuple[str, float]:
    """The last run of the prompt's whole suite and the least share of these models in it, or of any; no run and a
    typical share where there is none."""
    try:
        folder = latest_of(Path(settings.results), prompt_name, lambda _: None)
        made = listed(folder).models if folder is not None else ()
    except RunError:
        folder, made = None, ()
    known = {one.model: one.broken.point for one in made if one.broken is not None and one.broken.point is not None}
    shares = [known[name] for name in models if name in known] or list(known.values())
    if folder is None or not shares:
        return "", TYPICAL_RATE
    return folder.name, min(0.95, max(0.01, min(shares)))
