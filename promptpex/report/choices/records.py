"""What the page of a choice is made of: plain values, handed over by whoever knows the synthesis folder.

The terms are SPADE's (arXiv 2401.03038): an assertion of the chosen set that fails on an output flags it; a bad output
that is flagged is caught.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from promptpex.stats import Interval

CandidateState = Literal["chosen", "implied", "left out", "open", "never", "screened"]
"""What became of a candidate, in the order in which candidates are shown: part of the choice; implied by a chosen one;
neither; nothing, where there is no choice; refused by a person; telling nothing on these examples."""


@dataclass(frozen=True, slots=True)
class ChosenShare:
    """Coverage or FFR of the choice.

    Attributes:
        name: ``coverage`` or ``FFR``.
        counted_on: which outputs it is of, in words.
        interval: the share with its interval; None where there is no such output.
        count: what it was computed from, as text: ``18 of 22``.
        limit: what the share has to keep, as text: ``at least 60%``.
        few: whether it comes of too few outputs to say much.
    """

    name: str
    counted_on: str
    interval: Interval | None
    count: str
    limit: str
    few: bool = False


@dataclass(frozen=True, slots=True)
class PageCriterion:
    """What a candidate decides: the criterion with the title of its category, and where it comes from, in words."""

    text: str
    category: str
    origin: str


@dataclass(frozen=True, slots=True)
class PageCandidate:
    """A candidate and what it does on the labelled examples.

    Attributes:
        kind: of its check, with ``asks a judge`` where it may.
        check: what decides, as text.
        why: more of its state, in words; may be empty.
        caught: bad examples that it fails. alone: those of them that no chosen other one fails.
        flagged: good examples that it fails.
        errors: examples, with a label or without one, on which it errs.
    """

    id: str
    kind: str
    check: str
    state: CandidateState
    description: str = ""
    criteria: tuple[PageCriterion, ...] = ()
    why: str = ""
    caught: int = 0
    alone: int = 0
    flagged: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class PageExample:
    """A labelled output that is bad, or good and flagged.

    Attributes:
        name: its case, model and repeat, or the beginning of its id.
        label_from: how the label came about.
        notes: what graders wrote, each with who did.
        flagged_by: ids of the chosen candidates that it fails.
        others: ids of the first candidates that it fails and that could have been chosen. other_count: how many
            there are.
        reasons: why it fails a chosen candidate, by its id, where that is known.
        verbatim: ids of candidates whose reasons may be a judge's words, which stay as they are.
    """

    id: str
    name: str
    label: Literal["good", "bad"]
    output: str
    inputs: Mapping[str, object] = field(default_factory=dict)
    label_from: str = ""
    notes: tuple[str, ...] = ()
    flagged_by: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    other_count: int = 0
    reasons: Mapping[str, str] = field(default_factory=dict)
    verbatim: frozenset[str] = frozenset()

    @property
    def length(self) -> int:
        """About how many characters it takes on a page."""
        return len(self.output) + sum(len(str(value)) for value in (*self.inputs.values(), *self.notes))


@dataclass(frozen=True, slots=True)
class PageImplication:
    """That what passes one candidate passes another.

    Attributes:
        evidence: who says so, in words.
        word: a person's: ``accepted``, ``struck`` or nothing.
        state: whether it counts, and why not.
    """

    stronger: str
    weaker: str
    evidence: str
    word: str
    state: str


@dataclass(frozen=True, slots=True)
class PagePoint:
    """A point of the curve: the most coverage that is to be had at an FFR, and the candidates that give it."""

    ffr: float
    coverage: float
    candidates: tuple[str, ...]
    proven: bool = True


@dataclass(frozen=True, slots=True)
class PageCurve:
    """Coverage against FFR over limits on the FFR.

    Attributes:
        points: by rising FFR and coverage.
        chosen, held_out: FFR and coverage of the choice, where it was made and on examples held out; None: not known.
        ffr_limit, coverage_limit: what a choice has to keep.
    """

    points: tuple[PagePoint, ...]
    ffr_limit: float
    coverage_limit: float
    chosen: tuple[float, float] | None = None
    held_out: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class PromptPiece:
    """A piece of the prompt, with the titles of the categories that its words show."""

    text: str
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageVersion:
    """What a version of the prompt changed.

    Attributes:
        name, time, note: as in ``PromptVersion``.
        added, removed: sentences.
        moved: how many sentences stand elsewhere.
        categories: titles, each with the words that show it.
    """

    name: str
    time: str = ""
    note: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: int = 0
    categories: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """How much there is of a category, or of a group of them (the first level), where ``title`` is empty.

    Attributes:
        versions: whose changes fall into it.
        criteria, candidates, chosen: of these categories; a candidate of two counts in both.
    """

    group: str
    title: str
    versions: int
    criteria: int
    candidates: int
    chosen: int


@dataclass(frozen=True, slots=True)
class ChoicePage:
    """All that is known of a choice of assertions.

    Attributes:
        prompt: its name.
        answer: the choice in a sentence or two; or that there is none.
        why_none: why no set keeps the limits, a sentence each.
        labels: how grades became the labels of the choice, a sentence; empty where that is not known.
        notices: what one has to know before relying on the figures, a sentence each.
        changes: what the choice does otherwise than the one before, a sentence each.
        good, bad, unlabelled: how many examples there are of each.
        candidates: in any order.
        examples: the bad ones, and the good ones that are flagged.
        implications: those on file. followed: how many further ones follow from them.
        pieces: the prompt.
        has_choice: whether something was chosen, be it nothing at all.
    """

    prompt: str
    answer: str
    why_none: tuple[str, ...] = ()
    labels: str = ""
    notices: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    good: int = 0
    bad: int = 0
    unlabelled: int = 0
    shares: tuple[ChosenShare, ...] = ()
    candidates: tuple[PageCandidate, ...] = ()
    examples: tuple[PageExample, ...] = ()
    implications: tuple[PageImplication, ...] = ()
    followed: int = 0
    curve: PageCurve | None = None
    pieces: tuple[PromptPiece, ...] = ()
    versions: tuple[PageVersion, ...] = ()
    categories: tuple[CategoryCount, ...] = ()
    has_choice: bool = True
