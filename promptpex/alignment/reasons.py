"""Why a candidate was chosen or not, and why a criterion has none, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from promptpex.alignment.choose import CriterionChoice, Rated
from promptpex.codecs.wording import quoted


def why(rated: Rated, choice: CriterionChoice) -> str:
    """Why a candidate of a criterion was chosen or not."""
    limit = percent_of(choice.wanted.limit)
    if rated.state == "chosen":
        return _why_chosen(rated, choice)
    if rated.state == "worse":
        best = next((one for one in choice.rated if one.state == "chosen" and one.contender.wish != "must"), None)
        if best is None:
            return "another one was wanted"
        if best.alignment == rated.alignment:
            return f"as well aligned as {best.contender.id}, which is simpler"
        return f"less aligned than {best.contender.id}"
    return {
        "above-limit": f"flags {rated.flagged} of {rated.good} good outputs, more than {limit}",
        "catches-nothing": "catches no bad output",
        "not-comparable": _unknown(rated),
        "refused": "a person said never",
    }[rated.state]


def _why_chosen(rated: Rated, choice: CriterionChoice) -> str:
    if rated.contender.wish == "must":
        return "a person said must"
    if is_beyond(rated, choice):
        return f"beyond {percent_of(choice.wanted.limit)}, since the criterion must have an assertion"
    return "the best aligned within the limit"


def lacking(choices: Sequence[CriterionChoice], texts: Mapping[str, str]) -> list[str]:
    """The criteria without an assertion, and those whose assertion is beyond their limit, a sentence each.

    Args:
        texts: the words of the criteria, by id.
    """
    sentences = [f"{_called(one, texts)}: {_why_none(one)}." for one in choices if not one.chosen]
    return sentences + [
        f"{_called(one, texts)}: chosen beyond its FFR limit of {percent_of(one.wanted.limit)}, since it must have an "
        "assertion."
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
    return "no output is known to keep it" if rated.bad else "no output is known or suspected to break it"


def _called(one: CriterionChoice, texts: Mapping[str, str]) -> str:
    return f"{one.wanted.id} {quoted(texts[one.wanted.id], 60)}"


def _why_none(one: CriterionChoice) -> str:
    if not one.rated:
        return "no candidate"
    limit = percent_of(one.wanted.limit)
    if all(rated.state == "refused" for rated in one.rated):
        return "a person refused all candidates"
    if all(rated.state in ("not-comparable", "refused") for rated in one.rated):
        return f"no good candidate, since {_unknown(one.rated[0])}"
    if one.nearest is None:
        return f"no good candidate: none within an FFR of {limit} catches a bad output"
    near = one.nearest
    return (
        f"no good candidate within an FFR of {limit}; the nearest, {near.contender.id}, flags {near.flagged} of "
        f"{near.good} good outputs and catches {near.caught} of {near.bad} bad ones"
    )
