"""The page of a choice, ``report.html`` in a synthesis folder: one file that needs nothing else (as ``report.html``).

It is bounded: of 1,000 candidates on 10,000 examples it shows the beginning of each list, says what is cut, and
``candidates.csv`` and ``failures.csv`` have the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar, get_args

from promptpex.report.choices.coverage_curve import BOTTOM, LEFT, RIGHT, DrawnCurve, drawn
from promptpex.report.choices.records import (
    CandidateState,
    ChoicePage,
    ChosenShare,
    PageCandidate,
    PageExample,
    PromptPiece,
)
from promptpex.report.html_page import rendered
from promptpex.report.percentages import with_ends
from promptpex.report.view_model import Bar

MOST_EXAMPLES = 300
"""Outputs of each kind on the page."""
MOST_TEXT = 1_500_000
"""Characters of these outputs with their inputs, of each kind."""
MOST_CANDIDATES = 300
MOST_IMPLICATIONS = 200
MOST_VERSIONS = 100
MOST_SENTENCES = 40
"""Sentences of a version that are shown as added, and as removed."""
MOST_PROMPT = 60_000
"""Characters of the prompt."""
UNFOLDED = 40
"""Up to so many outputs of a kind are unfolded from the start."""

SHOWN_NAMES = 20
"""Candidates that are named one by one where one output fails them."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ShownList:
    """The beginning of a list, and how many items are left out."""

    items: Sequence[Any]
    more: int = 0


@dataclass(frozen=True, slots=True)
class ShareRow:
    """A share of the choice, with its place on an axis from 0 to 100%."""

    share: ChosenShare
    text: str
    bar: Bar | None


@dataclass(frozen=True, slots=True)
class ChoiceView:
    """What the page shows, in the order in which it shows it; each list no longer than a page can hold."""

    shares: tuple[ShareRow, ...]
    chosen: ShownList
    uncaught: int
    caught: int
    missed: ShownList
    caught_ones: ShownList
    alarms: ShownList
    candidates: ShownList
    implications: ShownList
    curve: DrawnCurve | None
    pieces: ShownList
    versions: ShownList
    confidence: float


def html(page: ChoicePage, tabs: Sequence[tuple[str, str, bool]] = ()) -> str:
    """The page of a choice; the same records give the same bytes. ``tabs`` as for the page of a run."""
    places = {"LEFT": LEFT, "RIGHT": RIGHT, "BOTTOM": BOTTOM}
    limits = {"unfolded": UNFOLDED, "sentences": MOST_SENTENCES, "SHOWN_NAMES": SHOWN_NAMES}
    return rendered("choice.html.jinja", tabs=tabs, page=page, view=view(page), **places, **limits)


def view(page: ChoicePage) -> ChoiceView:
    """What of a choice is shown, in which order."""
    bad = [one for one in page.examples if one.label == "bad"]
    missed = [one for one in bad if not one.flagged_by]
    caught = [one for one in bad if one.flagged_by]
    alarms = [one for one in page.examples if one.label == "good" and one.flagged_by]
    confidences = [one.interval.confidence for one in page.shares if one.interval is not None]
    return ChoiceView(
        shares=tuple(map(_share_row, page.shares)),
        chosen=_beginning([one for one in page.candidates if one.state == "chosen"], MOST_CANDIDATES),
        uncaught=len(missed),
        caught=len(caught),
        missed=_examples(missed),
        caught_ones=_examples(caught),
        alarms=_examples(alarms),
        candidates=_beginning(in_order(page.candidates), MOST_CANDIDATES),
        implications=_beginning(page.implications, MOST_IMPLICATIONS),
        curve=drawn(page.curve) if page.curve is not None and page.curve.points else None,
        pieces=_pieces(page.pieces),
        versions=_beginning(page.versions[::-1], MOST_VERSIONS),
        confidence=confidences[0] if confidences else 0.95,
    )


def in_order(candidates: Iterable[PageCandidate]) -> list[PageCandidate]:
    """Candidates by their state, and of each state those that catch most first."""
    states = get_args(CandidateState)
    return sorted(candidates, key=lambda one: (states.index(one.state), -one.caught, one.flagged, one.id))


def _beginning(items: Sequence[T], most: int) -> ShownList:
    return ShownList(items[:most], max(0, len(items) - most))


def _examples(examples: Sequence[PageExample]) -> ShownList:
    """The first examples, as many as the page can hold; at least one."""
    lengths = accumulate(one.length for one in examples[:MOST_EXAMPLES])
    fitting = sum(length <= MOST_TEXT for length in lengths)
    return _beginning(examples, max(1, fitting))


def _share_row(share: ChosenShare) -> ShareRow:
    interval = share.interval
    if interval is None or interval.estimate is None:
        return ShareRow(share, "–", None)
    text = with_ends(interval.estimate, interval.low, interval.high)
    return ShareRow(share, text, Bar.of(interval.low, interval.estimate, interval.high))


def _pieces(pieces: Sequence[PromptPiece]) -> ShownList:
    """The first pieces of the prompt, and how many characters are left out."""
    prompt_pieces: list[PromptPiece] = []
    room = MOST_PROMPT
    for piece in pieces:
        if room <= 0:
            break
        prompt_pieces.append(PromptPiece(piece.text[:room], piece.categories))
        room -= len(piece.text)
    return ShownList(prompt_pieces, sum(len(one.text) for one in pieces) - sum(len(one.text) for one in prompt_pieces))
