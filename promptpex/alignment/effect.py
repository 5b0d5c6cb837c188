"""What an edit of the prompt did: to how many outputs people call bad, and to how checks and judges agree with them.

Grades are given to texts, so those of an older run's outputs are still there, and both runs are held against people by
the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from promptpex.alignment.card import CardData, verdict_rows
from promptpex.alignment.figures import CONFIDENCE, as_figure
from promptpex.codecs.wording import plural
from promptpex.core.records import AlignmentFigures, CardEffect, CardFigure, CardLabels, CardRow
from promptpex.stats import Interval, difference_of_intervals

_FIGURES: tuple[Literal["coverage", "ffr", "alignment"], ...] = ("coverage", "ffr", "alignment")


RowPair = tuple[CardRow, CardRow]


def row_pairs(before: CardData, rows: Iterable[CardRow]) -> tuple[RowPair, ...]:
    """The rows of verdicts that the older outputs and the card of the newer ones both have.

    Args:
        rows: of the card.
    """
    old = {(row.kind, row.subject, row.by): row for row in verdict_rows(before)}
    keys = ((row, (row.kind, row.subject, row.by)) for row in rows)
    return tuple((old[key], row) for row, key in keys if key in old)


def effects(before: CardData, after: CardData, pairs: Iterable[RowPair]) -> tuple[CardEffect, ...]:
    """What changed from the outputs of an older wording to those of a newer one.

    Args:
        before, after: the outputs of either wording.
        pairs: ``row_pairs`` of them.

    The interval of a difference is that of two independent groups (``difference_of_intervals``). The cases of two runs
    are mostly the same, and what is hard stays hard, so it is rather too wide than too narrow.
    """
    return (*_shares(before, after), *_alignments(pairs))


def _shares(before: CardData, after: CardData) -> Iterator[CardEffect]:
    """How many outputs people call bad, on the whole and by each rule and criterion."""
    for name, subject in after.graded.book.subjects.items():
        if not subject.asked:
            continue
        old, new = before.graded.labels(name), after.graded.labels(name)
        if old.good + old.bad and new.good + new.bad:
            if old.bad_share is not None and new.bad_share is not None:
                yield _effect(name, "", "bad", old.bad_share, new.bad_share, sampled=True)
            else:
                yield _effect(name, "", "bad", _of_graded(before, old), _of_graded(after, new), sampled=False)


def _of_graded(data: CardData, labels: CardLabels) -> CardFigure:
    """The share of bad ones of all outputs with a label."""
    figures, _ = data.graded.figures(labels.subject, lambda item: False)
    return figures.base_rate


def left_out_of_effects(pairs: Iterable[RowPair]) -> Iterator[str]:
    """Which rows are compared on fewer outputs than were graded, or not at all, since the grades of the others had a
    part in choosing the checks; a sentence each."""
    for earlier, row in pairs:
        if not earlier.in_choice and not row.in_choice:
            continue
        name = f"{row.id} {', '.join(row.by)}" if row.by else "all verdicts together"
        if earlier.graded.n and row.graded.n:
            counts = f"{plural(earlier.graded.n, 'graded output')} before and {row.graded.n} now"
            yield f"{name}: compared on {counts} that had no part in the choice"
        else:
            where = "of that run" if not earlier.graded.n else "of now"
            yield f"{name}: not compared, since no graded output {where} is left that had no part in the choice"


def _alignments(pairs: Iterable[RowPair]) -> Iterator[CardEffect]:
    for earlier, row in pairs:
        if earlier.sample is not None and row.sample is not None:
            pair, sampled = (earlier.sample, row.sample), True
        else:
            pair, sampled = (earlier.graded, row.graded), False
        for figure in _FIGURES:
            one, other = _figure(pair[0], figure), _figure(pair[1], figure)
            if one.estimate is not None or other.estimate is not None:
                yield _effect(row.subject, ", ".join(row.by), figure, one, other, sampled)


def _figure(figures: AlignmentFigures, name: Literal["coverage", "ffr", "alignment"]) -> CardFigure:
    return {"coverage": figures.coverage, "ffr": figures.ffr, "alignment": figures.alignment}[name]


def _effect(
    what: str,
    by: str,
    figure: Literal["coverage", "ffr", "alignment", "bad"],
    before: CardFigure,
    after: CardFigure,
    sampled: bool,
) -> CardEffect:
    difference = difference_of_intervals(_interval(after), _interval(before))
    return CardEffect(
        what=what,
        by=by,
        figure=figure,
        before=before,
        after=after,
        difference=as_figure(difference) if difference.estimate is not None else None,
        sampled=sampled,
    )


def _interval(figure: CardFigure) -> Interval:
    return Interval(figure.estimate, figure.low, figure.high, CONFIDENCE, figure.n, figure.method)
