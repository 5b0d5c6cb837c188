"""The most frequent wrong answers of each model, as texts and as small tables: terminal and page show the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.core.translation import Key, tr
from promptpex.report.summary import Summary
from promptpex.report.text_table import Section
from promptpex.tables import records

MOST_LISTED = 10
"""Wrong answers of a model on the page; confusions.csv has more."""

MOST_IN_TABLE = 12
"""Answers in a model's table of what was given for what, those that are most often confused."""

OTHER = Key("another answer")


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """What was given where an answer was expected: ``counts[row][column]`` outputs, of those that were compared.

    Attributes:
        answers: the rows, and but for the last the columns.
        columns: the same answers, and any other.
        counts: per row, the outputs of each column.
        shares: the same, of the row's outputs; 0 for the right answer, which is the column of the row's own place.
        left_out: how many further expected answers were given wrongly.
    """

    answers: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    shares: tuple[tuple[float, ...], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class WrongAnswers:
    """A model's wrong answers: rows under ``tables.CONFUSION_COLUMNS``, how many more there are, and where answers are
    closed, such as tags, their table."""

    model: str
    wrong: int
    compared: int
    rows: tuple[Mapping[str, Any], ...]
    more: int
    table: ConfusionTable | None


def wrong_answers(summary: Summary) -> tuple[WrongAnswers, ...]:
    """The wrong answers of each model that gave any."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for row in records(summary.details.confusions):
        by_model.setdefault(row["model"], []).append(row)
    counts: dict[str, list[dict[str, Any]]] = {}
    for row in records(summary.details.answer_counts):
        counts.setdefault(row["model"], []).append(row)
    compared = {row["model"]: row["accuracy_scored"] or 0 for row in summary.model_rows}
    return tuple(
        WrongAnswers(
            model=model,
            wrong=rows[0]["wrong"],
            compared=compared.get(model, rows[0]["wrong"]),
            rows=tuple(rows[:MOST_LISTED]),
            more=len(rows) - len(rows[:MOST_LISTED]),
            table=_table(counts.get(model, ())),
        )
        for model, rows in by_model.items()
    )


def wrong_answer_section(summary: Summary) -> Section:
    """The same for a terminal: the most frequent wrong answers of all models, each model's first ones first."""
    by_model = wrong_answers(summary)
    ranked = [(place, -row["outputs"], model, row) for model in by_model for place, row in enumerate(model.rows)]
    rows = tuple(
        (model.model, row["expected"], row["given"], tr("{some} of {all}", some=row["outputs"], all=model.wrong))
        for _, _, model, row in sorted(ranked, key=lambda one: one[:2])
    )
    return Section(
        "wrong-answers",
        tr("Most frequent wrong answers"),
        "",
        (Key("model"), Key("expected"), Key("given"), Key("of its wrong outputs")),
        rows,
        file="confusions.csv",
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> ConfusionTable | None:
    """The table of the answers that take part in most confusions; None where no wrong answer is another's right one."""
    pairs: Counter[tuple[str, str]] = Counter()
    for row in rows:
        pairs[row["expected"], OTHER if row["given"] is None else row["given"]] += row["outputs"]
    involved: Counter[str] = Counter()
    for (expected, given_answer), outputs in pairs.items():
        if expected != given_answer and given_answer != OTHER:
            involved[expected] += outputs
            involved[given_answer] += outputs
    if not involved:
        return None
    answers = tuple(sorted(answer for answer, _ in involved.most_common(MOST_IN_TABLE)))
    counts = tuple(tuple(_row(pairs, answer, answers)) for answer in answers)
    missed = {expected for expected, given in pairs if expected != given}
    return ConfusionTable(
        answers=answers,
        columns=(*answers, OTHER),
        counts=counts,
        shares=tuple(tuple(_shares(row, place)) for place, row in enumerate(counts)),
        left_out=len(missed - set(answers)),
    )


def _row(pairs: Counter[tuple[str, str]], expected: str, answers: Sequence[str]) -> Iterator[int]:
    yield from (pairs[expected, answer] for answer in answers)
    yield sum(outputs for (one, given), outputs in pairs.items() if one == expected and given not in answers)


def _shares(row: Sequence[int], right: int) -> Iterator[float]:
    total = sum(row)
    yield from (0.0 if place == right or not total else outputs / total for place, outputs in enumerate(row))
