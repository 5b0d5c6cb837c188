"""Several runs, of a prompt each, in one table; and what they have in common, model by model, described and not tested.

Suites differ in size and in kind, so their outputs are never thrown together: every prompt counts the same in a mean,
and means of several models are over the same prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from promptpex.tables.summary import MODEL_COLUMNS
from promptpex.tables.table import Table, records

PROMPT_MODEL_COLUMNS: Mapping[str, str] = {
    "prompt": "string",
    "file": "string",
    "run": "string",
    "partial": "string",
    **MODEL_COLUMNS,
}
"""Columns of ``prompt_models``: which run of which prompt, why it is not complete if so, and ``MODEL_COLUMNS``."""

OVER_PROMPTS_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "prompts": "Int64",
    "scored_prompts": "Int64",
    "without_failure": "Int64",
    "decisions": "string",
    "mean_of": "Int64",
    "mean_non_compliance": "Float64",
    "at_least": "boolean",
    "lowest": "Float64",
    "highest": "Float64",
    "lowest_at_least": "boolean",
    "highest_at_least": "boolean",
    "cost_usd": "Float64",
}
"""Columns of ``over_prompts``. ``prompts``: on how many the model was run; ``scored_prompts``: on how many of them an
output was scored; ``without_failure``: on how many of those all were and none broke a rule. ``decisions``: how often
each decision was made about it, such as ``3 best, 1 tied``. ``mean_non_compliance``: the mean over
``mean_of`` prompts, each counting the same: those on which every model has a share that has one on any. It describes
these prompts; ``at_least``: one of its shares is a lower bound. ``lowest`` and ``highest``: of the shares on all
prompts; ``lowest_at_least`` and ``highest_at_least``: that one is a lower bound."""


DECISIONS = ("best", "better", "reference", "tied", "worse", "undecided")
"""In the order in which they are counted; others come after them."""


def prompt_models(runs: Sequence[tuple[Mapping[str, str | None], Table]]) -> Table:
    """A row per prompt and model; columns ``PROMPT_MODEL_COLUMNS``.

    Args:
        runs: of each prompt what is said of its run (``prompt``, ``file``, ``run``, ``partial``), and its table of
            models.
    """
    return Table.of([{**about, **row} for about, models in runs for row in records(models)], PROMPT_MODEL_COLUMNS)


def over_prompts(table: Table) -> Table:
    """A row per model, the lowest mean first; columns ``OVER_PROMPTS_COLUMNS``.

    Args:
        table: as ``prompt_models`` gives it, a row per ``file`` and model.
    """
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for row in records(table):
        by_model.setdefault(row["model"], []).append(row)
    shared = _shared_prompts(by_model)
    rows = [_of_model(model, rows, shared) for model, rows in by_model.items()]
    means = [row["mean_non_compliance"] for row in rows]
    ordered = sorted(range(len(rows)), key=lambda at: (means[at] is None, means[at] or 0.0))
    return Table.of([rows[at] for at in ordered], OVER_PROMPTS_COLUMNS)


def _shared_prompts(by_model: Mapping[str, Sequence[Mapping[str, Any]]]) -> set[str]:
    """The prompts on which every model has a share that has one at all."""
    having = [{row["file"] for row in rows if row["non_compliance"] is not None} for rows in by_model.values()]
    return set.intersection(*(files for files in having if files)) if any(having) else set()


def _of_model(model: str, rows: Sequence[Mapping[str, Any]], shared: set[str]) -> dict[str, Any]:
    scored = [(row["non_compliance"], row) for row in rows if row["non_compliance"] is not None]
    shares = [share for share, _ in scored]
    bounds = [row["non_compliance"] for row in rows if row["at_least"] and row["non_compliance"] is not None]
    lowest, highest = min(shares, default=None), max(shares, default=None)
    compared = [row for row in rows if row["file"] in shared and row["non_compliance"] is not None]
    costs = [row["cost_usd"] for row in rows]
    decision_counts = Counter(row["decision"] for row in rows if row["decision"] is not None)
    return {
        "model": model,
        "prompts": len(rows),
        "scored_prompts": len(shares),
        "without_failure": sum(share == 0 and not row["unscored"] for share, row in scored),
        "decisions": ", ".join(
            f"{decision_counts[decision]} {decision}" for decision in sorted(decision_counts, key=_rank)
        ),
        "mean_of": len(compared),
        "mean_non_compliance": sum(row["non_compliance"] for row in compared) / len(compared) if compared else None,
        "at_least": any(row["at_least"] for row in compared),
        "lowest": lowest,
        "highest": highest,
        "lowest_at_least": lowest in bounds,
        "highest_at_least": highest in bounds,
        "cost_usd": None if None in costs else sum(costs),
    }


def _rank(decision: str) -> tuple[int, str]:
    return (DECISIONS.index(decision) if decision in DECISIONS else len(DECISIONS)), decision
