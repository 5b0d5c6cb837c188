"""The accuracy of models in words, for the report's answer: from rows of the table of models, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from promptpex.codecs.wording import plural
from promptpex.report.percentages import TableRow, confidence_interval, listed, percent

SCORED = "accuracy_scored"
"""The column of the outputs that were compared with expected ones."""

FEW_COMPARED = 20
"""Compared outputs below which an accuracy is a rough guide, as with scored outputs."""


class RankingWords(NamedTuple):
    """What models are called by what they are ranked by; it is said where there is more than one figure.

    Attributes:
        best: the first, after "clearly".
        is_best: after "which model is".
        worse: one that another beats, before "than". better: one that beats another.
        good_enough: those that one may choose from.
    """

    best: str = "the best"
    is_best: str = "best"
    worse: str = "worse"
    better: str = "better"
    good_enough: str = "good enough"


_BY_RULES = RankingWords(*(f"{words} at keeping the rules" for words in RankingWords()))
_BY_ACCURACY = RankingWords("the most accurate", "most accurate", "less accurate", "more accurate", "accurate enough")


def ranking_words(rows: Sequence[TableRow], rank_by: str) -> RankingWords:
    """The words for these models."""
    if rank_by == "accuracy":
        return _BY_ACCURACY
    if rank_by != "non-compliance":
        return RankingWords(*(f"{words} by {rank_by}" for words in RankingWords()))
    return _BY_RULES if any(row["accuracy"] is not None for row in rows) else RankingWords()


def was_right(row: TableRow, confidence: float) -> str | None:
    """How often a model was right, as the rest of a sentence; None where nothing was compared."""
    if row["accuracy"] is None:
        return None
    bound = "at least " if row["accuracy_at_least"] else ""
    of = row[SCORED] + (row["accuracy_unscored"] if bound else 0)
    return f"was right in {bound}{row['accuracy_right']} of {plural(of, 'output')} ({_share(row, confidence)})"


def accuracy(row: TableRow, confidence: float) -> str | None:
    """The accuracy with its interval; None where nothing was compared."""
    return None if row["accuracy"] is None else f"accuracy {_share(row, confidence)}"


def _share(row: TableRow, confidence: float) -> str:
    bound = "at least " if row["accuracy_at_least"] else ""
    interval = confidence_interval(row["accuracy_ci_low"], row["accuracy_ci_high"], confidence)
    return f"{bound}{percent(row['accuracy'])}, {interval}"


def alone(rows: Sequence[TableRow], confidence: float) -> list[str]:
    """A sentence for each model, where nothing else can be said of them."""
    return [f"{row['model']} {was_right(row, confidence)}." for row in rows if row["accuracy"] is not None]


def caveats(rows: Sequence[TableRow], references: Mapping[str, int]) -> list[str]:
    """What a reader of the accuracy has to know: whose answers it is measured by, few outputs, outputs left open.

    Args:
        rows: of the table of models.
        references: how many expected outputs come from which model; people's under no name.
    """
    compared = [row for row in rows if row["accuracy"] is not None]
    return [*_whose(references), *_few(compared), *_open(rows)] if compared else []


def _whose(references: Mapping[str, int]) -> Iterator[str]:
    made = {name: count for name, count in references.items() if name}
    if made and not references.get(""):
        yield f"Accuracy is against answers of {listed(made)}, not against people's."
    elif made:
        parts = listed(f"{count} of {name}" for name, count in made.items())
        total = sum(references.values())
        yield f"Of the {total} expected outputs that accuracy is measured by, models gave some: {parts}."


def _few(rows: Sequence[TableRow]) -> Iterator[str]:
    few = [row for row in rows if row[SCORED] < FEW_COMPARED]
    if len(few) == 1:
        yield f"{few[0]['model']}'s accuracy rests on only {plural(few[0][SCORED], 'output')}."
    elif few:
        models = listed(f"{row['model']} ({row[SCORED]})" for row in few)
        yield f"The accuracy of {models} rests on fewer than {FEW_COMPARED} outputs each."


def _open(rows: Sequence[TableRow]) -> Iterator[str]:
    open_ = [row for row in rows if row["accuracy"] is not None and row["accuracy_worst"] < row["accuracy_best"]]
    if open_:
        ranges = listed(
            f"{row['model']}'s accuracy between {percent(row['accuracy_worst'])} and {percent(row['accuracy_best'])}"
            for row in open_
        )
        yield f"The outputs that could not be compared leave {ranges}."
