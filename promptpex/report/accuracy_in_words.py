"""The accuracy of models in words, for the report's answer: from rows of the table of models, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from promptpex.core.translation import tr, tr_n
from promptpex.report.percentages import TableRow, at_least, confidence_interval, listed, percent

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

    best: str
    is_best: str
    worse: str
    better: str
    good_enough: str


def ranking_words(rows: Sequence[TableRow], rank_by: str) -> RankingWords:
    """The words for these models."""
    if rank_by == "accuracy":
        return RankingWords(
            best=tr("the most accurate"),
            is_best=tr("most accurate"),
            worse=tr("less accurate"),
            better=tr("more accurate"),
            good_enough=tr("accurate enough"),
        )
    if rank_by != "non-compliance":
        rank_by = tr("people's grades") if rank_by == "corrected" else rank_by
        return RankingWords(
            best=tr("the best by {metric}", metric=rank_by),
            is_best=tr("best by {metric}", metric=rank_by),
            worse=tr("worse by {metric}", metric=rank_by),
            better=tr("better by {metric}", metric=rank_by),
            good_enough=tr("good enough by {metric}", metric=rank_by),
        )
    if any(row["accuracy"] is not None for row in rows):
        return RankingWords(
            best=tr("the best at keeping the rules"),
            is_best=tr("best at keeping the rules"),
            worse=tr("worse at keeping the rules"),
            better=tr("better at keeping the rules"),
            good_enough=tr("good enough at keeping the rules"),
        )
    return RankingWords(tr("the best"), tr("best"), tr("worse"), tr("better"), tr("good enough"))


def was_right(row: TableRow, confidence: float) -> str | None:
    """How often a model was right, as the rest of a sentence; None where nothing was compared."""
    if row["accuracy"] is None:
        return None
    figures = {"right": row["accuracy_right"], "share": _share(row, confidence)}
    if row["accuracy_at_least"]:
        return tr_n(
            "was right in at least {right} of {count} output ({share})",
            "was right in at least {right} of {count} outputs ({share})",
            row[SCORED] + row["accuracy_unscored"],
            **figures,
        )
    return tr_n(
        "was right in {right} of {count} output ({share})",
        "was right in {right} of {count} outputs ({share})",
        row[SCORED],
        **figures,
    )


def accuracy(row: TableRow, confidence: float) -> str | None:
    """The accuracy with its interval; None where nothing was compared."""
    return None if row["accuracy"] is None else tr("accuracy {share}", share=_share(row, confidence))


def _share(row: TableRow, confidence: float) -> str:
    interval = confidence_interval(row["accuracy_ci_low"], row["accuracy_ci_high"], confidence)
    return f"{at_least(row['accuracy'], row['accuracy_at_least'])}, {interval}"


def alone(rows: Sequence[TableRow], confidence: float) -> list[str]:
    """A sentence for each model, where nothing else can be said of them."""
    return [
        tr("{model} {did}.", model=row["model"], did=was_right(row, confidence))
        for row in rows
        if row["accuracy"] is not None
    ]


def caveats(rows: Sequence[TableRow], references: Mapping[str, int]) -> list[str]:
    """What a reader of the accuracy has to know: whose answers it is measured by, few outputs, outputs left open.

    Args:
        rows: of the table of models.
        references: how many expected outputs come from which model; people's under no name.
    """
    compared = [row for row in rows if row["accuracy"] is not None]
    return [*_whose(references), *_few(compared), *_open(rows)] if compared else []


def _whose(references: Mapping[str, int]) -> Iterator[str]:
    named_references = {name: count for name, count in references.items() if name}
    if named_references and not references.get(""):
        yield tr("Accuracy is against answers of {models}, not against people's.", models=listed(named_references))
    elif named_references:
        yield tr(
            "Of the {total} expected outputs that accuracy is measured by, models gave some: {parts}.",
            total=sum(references.values()),
            parts=listed(tr("{count} of {name}", count=count, name=name) for name, count in named_references.items()),
        )


def _few(rows: Sequence[TableRow]) -> Iterator[str]:
    rows_with_few = [row for row in rows if row[SCORED] < FEW_COMPARED]
    if len(rows_with_few) == 1:
        yield tr_n(
            "{model}'s accuracy rests on only {count} output.",
            "{model}'s accuracy rests on only {count} outputs.",
            rows_with_few[0][SCORED],
            model=rows_with_few[0]["model"],
        )
    elif rows_with_few:
        models = listed(f"{row['model']} ({row[SCORED]})" for row in rows_with_few)
        yield tr("The accuracy of {models} rests on fewer than {few} outputs each.", models=models, few=FEW_COMPARED)


def _open(rows: Sequence[TableRow]) -> Iterator[str]:
    open_ = [row for row in rows if row["accuracy"] is not None and row["accuracy_worst"] < row["accuracy_best"]]
    if open_:
        ranges = listed(
            tr(
                "{model}'s accuracy between {low} and {high}",
                model=row["model"],
                low=percent(row["accuracy_worst"]),
                high=percent(row["accuracy_best"]),
            )
            for row in open_
        )
        yield tr("The outputs that could not be compared leave {ranges}.", ranges=ranges)
