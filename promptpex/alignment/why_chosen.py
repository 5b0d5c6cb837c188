"""Why a candidate was chosen or not, and why a criterion has none, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from promptpex.alignment.choose import CriterionChoice, Rated
from promptpex.codecs.text.wording import quoted
from promptpex.core.translation import stored


def why(rated: Rated, choice: CriterionChoice) -> str:
    """Why a candidate of a criterion was chosen or not."""
    limit = percent_of(choice.wanted.limit)
    if rated.state == "chosen":
        return _why_chosen(rated, choice)
    if rated.state == "worse":
        best = next((one for one in choice.rated if one.state == "chosen" and one.contender.wish != "must"), None)
        if best is None:
            return stored("a person chose another one")
        if best.alignment == rated.alignment:
            return stored("as well aligned as {candidate}, which is simpler", candidate=best.contender.id)
        return stored("less aligned than {candidate}", candidate=best.contender.id)
    flags = stored(
        "flags {count} of {number} good outputs, more than {share}", count=rated.flagged, number=rated.good, share=limit
    )
    return {
        "above-limit": flags,
        "catches-nothing": stored("catches no bad output"),
        "not-comparable": _unknown(rated),
        "refused": stored("a person said never"),
    }[rated.state]


def _why_chosen(rated: Rated, choice: CriterionChoice) -> str:
    if rated.contender.wish == "must":
        return stored("a person said must")
    if is_beyond(rated, choice):
        limit = percent_of(choice.wanted.limit)
        return stored("beyond {share}, since the criterion must have an assertion", share=limit)
    return stored("the best aligned within the limit")


def lacking(
    choices: Sequence[CriterionChoice], texts: Mapping[str, str], reading: Callable[[str], str] = str
) -> list[str]:
    """The criteria without an assertion, and those whose assertion is beyond their limit, a sentence each.

    Args:
        texts: the words of the criteria, by id.
        reading: how the reasons are shown; by default as files of data have them.
    """
    sentences = [f"{_called(one, texts)}: {reading(_why_none(one))}." for one in choices if not one.chosen]
    above_limit = stored("chosen beyond its FFR limit of {share}, since it must have an assertion")
    return sentences + [
        f"{_called(one, texts)}: {reading(above_limit.format(share=percent_of(one.wanted.limit)))}."
        for one in choices
        if any(rated.state == "chosen" and is_beyond(rated, one) for rated in one.rated)
    ]


def is_beyond(rated: Rated, choice: CriterionChoice) -> bool:
    """Whether a candidate that nobody asked for flags more than the limit of its criterion."""
    return rated.contender.wish is None and rated.flagged > choice.wanted.limit * rated.good


def percent_of(limit: Fraction) -> str:
    """A limit as a percentage, with the digits that it was given."""
    return f"{float(100 * limit):g}%"


def _unknown(rated: Rated) -> str:
    return (
        stored("no output is known to keep it") if rated.bad else stored("no output is known or suspected to break it")
    )


def _called(one: CriterionChoice, texts: Mapping[str, str]) -> str:
    return f"{one.wanted.id} {quoted(texts[one.wanted.id], 60)}"


def _why_none(one: CriterionChoice) -> str:
    if not one.rated:
        return stored("no candidate")
    limit = percent_of(one.wanted.limit)
    if all(rated.state == "refused" for rated in one.rated):
        return stored("a person refused all candidates")
    if all(rated.state in ("not-comparable", "refused") for rated in one.rated):
        return stored("no good candidate, since {reason}", reason=_unknown(one.rated[0]))
    if one.nearest is None:
        return stored("no good candidate: none within an FFR of {share} catches a bad output", share=limit)
    near = one.nearest
    return stored(
        "no good candidate within an FFR of {share}; the nearest, {candidate}, flags {least} of "
        "{count} good outputs and catches {most} of {number} bad ones",
        share=limit,
        candidate=near.contender.id,
        least=near.flagged,
        count=near.good,
        most=near.caught,
        number=near.bad,
    )
