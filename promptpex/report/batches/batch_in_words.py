"""What a batch says of its models in plain words: counts of prompts, and means that describe and do not test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.percentages import TableRow, at_least, listed

ONLY = "only model"
"""The decision about a model without another."""


def batch_answer(rows: Sequence[TableRow]) -> str:
    """The answer, from a table of models over prompts (``tables.OVER_PROMPTS_COLUMNS``)."""
    if not any(row["scored_prompts"] for row in rows):
        return tr("Nothing was scored, so no model can be assessed.")
    sentences = [_of_model(row) for row in rows]
    return " ".join([*sentences, *_means([row for row in rows if row["mean_non_compliance"] is not None])])


def decisions_in_words(row: TableRow) -> str:
    """How often each decision was made about a model: ``worse on 6, tied on 2``; empty where there was none to make."""
    decision_counts = [part.split(" ", 1) for part in row["decisions"].split(", ") if part]
    return ", ".join(
        tr("{decision} on {count}", decision=from_data(decision), count=count)
        for count, decision in decision_counts
        if decision != ONLY
    )


def _of_model(row: TableRow) -> str:
    if not row["scored_prompts"]:
        nothing = tr_n("nothing scored on {count} prompt", "nothing scored on {count} prompts", row["prompts"])
        return tr("{model}: {findings}.", model=row["model"], findings=nothing)
    prompts = tr_n("{count} prompt", "{count} prompts", row["scored_prompts"])
    without_failure = tr("no failure on {count} of {prompts}", count=row["without_failure"], prompts=prompts)
    if row["lowest"]:
        without_failure = tr_n("failures on {count} prompt", "failures on all {count} prompts", row["scored_prompts"])
    missing = row["prompts"] - row["scored_prompts"]
    unscored = tr_n("nothing scored on {count} prompt", "nothing scored on {count} prompts", missing) if missing else ""
    findings = ", ".join(filter(None, [decisions_in_words(row), without_failure, unscored]))
    return tr("{model}: {findings}.", model=row["model"], findings=findings)


def _means(rows: Sequence[TableRow]) -> list[str]:
    if not rows:
        return []
    means = listed(f"{row['model']} {at_least(row['mean_non_compliance'], row['at_least'])}" for row in rows)
    prompts = tr_n("{count} prompt", "{count} prompts", rows[0]["mean_of"])
    return [tr("Mean non-compliance over {prompts}, each counting the same: {means}.", prompts=prompts, means=means)]


def incomplete_notes(partial: Mapping[str, int], parts_of_suites: int) -> list[str]:
    """What is missing in the runs of a batch.

    Args:
        partial: how many runs are not complete, by the reason.
        parts_of_suites: how many runs are of a part of their suite.
    """
    notes = [
        tr_n(
            "{count} run is not complete ({reason}): the same command asks for what is missing.",
            "{count} runs are not complete ({reason}): the same command asks for what is missing.",
            count,
            reason=from_data(reason),
        )
        for reason, count in partial.items()
    ]
    if parts_of_suites:
        notes.append(
            tr_n(
                "{count} run is of a part of the cases only.",
                "{count} runs are of a part of the cases only.",
                parts_of_suites,
            )
        )
    return notes


ROUNDING = 1e-9
"""How far 1 / (1 - confidence) may be from a whole number by rounding alone: at 0.99 it is 99.99999999999991."""


def about_decisions(confidence: float) -> str:
    """How decisions about models on several prompts are to be read.

    Args:
        confidence: with which each decision was made.
    """
    return tr(
        "Each decision is about its own prompt, and none is about all of them: where models are equally good, up to "
        "one prompt in {prompts} shows a difference by chance.",
        prompts=math.floor(1 / (1 - confidence) + ROUNDING),
    )
