"""What a batch says of its models in plain words: counts of prompts, and means that describe and do not test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from promptpex.codecs.wording import plural
from promptpex.report.percentages import TableRow, listed, percent

ONLY = "only model"
"""The decision about a model without another."""


def batch_answer(rows: Sequence[TableRow]) -> str:
    """The answer, from a table of models over prompts (``tables.OVER_PROMPTS_COLUMNS``)."""
    if not any(row["scored_prompts"] for row in rows):
        return "Nothing was scored, so no model can be assessed."
    sentences = [_of_model(row) for row in rows]
    return " ".join([*sentences, *_means([row for row in rows if row["mean_non_compliance"] is not None])])


def _of_model(row: TableRow) -> str:
    if not row["scored_prompts"]:
        return f"{row['model']}: nothing was scored on {plural(row['prompts'], 'prompt')}."
    kept = f"no failure on {row['without_failure']} of {plural(row['scored_prompts'], 'prompt')}"
    made = [part.split(" ", 1) for part in row["decisions"].split(", ") if part]
    decisions = [f"{decision} on {count}" for count, decision in made if decision != ONLY]
    missing = row["prompts"] - row["scored_prompts"]
    unscored = [f"nothing scored on {missing}"] if missing else []
    return f"{row['model']}: {', '.join([*decisions, kept, *unscored])}."


def _means(rows: Sequence[TableRow]) -> list[str]:
    if not rows:
        return []
    means = listed(
        f"{row['model']} {'at least ' if row['at_least'] else ''}{percent(row['mean_non_compliance'])}" for row in rows
    )
    prompts = plural(rows[0]["mean_of"], "prompt")
    return [f"Mean non-compliance over {prompts}, each counting the same: {means}."]


def incomplete_notes(partial: Mapping[str, int], parts_of_suites: int) -> list[str]:
    """What is missing in the runs of a batch.

    Args:
        partial: how many runs are not complete, by the reason.
        parts_of_suites: how many runs are of a part of their suite.
    """
    notes = []
    for reason, count in partial.items():
        runs, verb = plural(count, "run"), "is" if count == 1 else "are"
        notes.append(f"{runs} {verb} not complete ({reason}): the same command goes on with what is missing.")
    if parts_of_suites:
        runs, verb = plural(parts_of_suites, "run"), "is" if parts_of_suites == 1 else "are"
        notes.append(f"{runs} {verb} of a part of the cases only.")
    return notes


def about_decisions(confidence: float) -> str:
    """How decisions about models on several prompts are to be read.

    Args:
        confidence: with which each decision was made.
    """
    prompts = round(1 / (1 - confidence))
    return (
        "Each decision is about its own prompt, and none is about all of them: where models are equally good, up to "
        f"one prompt in {prompts} shows a difference by chance."
    )
