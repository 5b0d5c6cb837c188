"""Two runs side by side: which models have certainly become better or worse on the same cases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.stats import count_pairs, holm, mcnemar, non_inferiority, tango_difference
from promptpex.tables.frames import typed
from promptpex.tables.repeats import tallies
from promptpex.tables.standings import Results, case_results

if TYPE_CHECKING:
    import pandas as pd

COMPARISON_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "cases": "Int64",
    "before": "Int64",
    "after": "Int64",
    "non_compliance_before": "Float64",
    "non_compliance_after": "Float64",
    "broke": "Int64",
    "mended": "Int64",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "p_adjusted": "Float64",
    "change": "string",
    "within_tolerance": "boolean",
}
"""Columns of ``comparison``. ``before`` and ``after`` are the cases broken in either run, of the ``cases`` that both
scored; ``broke`` and ``mended`` are those that changed; ``difference`` is after minus before, with Tango's interval;
``p`` is McNemar's exact test, adjusted over the models by Holm; ``change`` is ``worse`` or ``better`` for certain, else
``undecided``; ``within_tolerance``: shown to be less than the tolerance worse, where there is one."""

CHANGED_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "case": "string",
    "change": "string",
    "before": "string",
    "after": "string",
    "broken_rules": "string",
    "output": "string",
}
"""Columns of ``changed``: a case that passed in one run and not in the other; ``before`` and ``after`` are passed of
scored repeats; the rest is of the run in which it is broken."""


def comparison(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float = 0.95,
    tolerance: float | None = None,
) -> pd.DataFrame:
    """A row per model, from the tables of outputs of two runs; columns ``COMPARISON_COLUMNS``.

    Args:
        before, after: tables of outputs.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
        confidence: of the intervals; its complement is the error rate over all models together.
        tolerance: the loss that one is ready to accept, as a share.
    """
    alpha = 1.0 - confidence
    first, second = _results(before, cases), _results(after, cases)
    pairs = [(second.get(new, {}), first.get(old, {})) for old, new in models]
    tables = [count_pairs((passed, past.get(case)) for case, passed in now.items()) for now, past in pairs]
    ps = [mcnemar(table) for table in tables]
    rows = []
    for (old, new), counts, p, adjusted in zip(models, tables, ps, holm(ps), strict=True):
        apart = tango_difference(counts, confidence)
        certain = adjusted <= alpha and counts.discordant > 0
        change = "undecided" if not certain else "worse" if counts.second_only > counts.first_only else "better"
        row: dict[str, Any] = {
            "model": old if old == new else f"{old} -> {new}",
            "cases": counts.n,
            "before": counts.first_only + counts.neither,
            "after": counts.second_only + counts.neither,
            "broke": counts.second_only,
            "mended": counts.first_only,
            "p": p,
            "p_adjusted": adjusted,
            "change": change,
        }
        if counts.n:
            row |= {"non_compliance_before": row["before"] / counts.n, "non_compliance_after": row["after"] / counts.n}
            row |= {"difference": row["non_compliance_after"] - row["non_compliance_before"]}
            row |= {"difference_low": 0.0 - apart.high, "difference_high": 0.0 - apart.low}
        if tolerance is not None and counts.n:
            row["within_tolerance"] = non_inferiority(counts, tolerance, alpha=alpha).shown
        rows.append(row)
    return typed(rows, COMPARISON_COLUMNS)


def changed(
    before: pd.DataFrame, after: pd.DataFrame, *, models: Sequence[tuple[str, str]], cases: Collection[str]
) -> pd.DataFrame:
    """A row per model and case that passes in one run and not in the other, new failures first; ``CHANGED_COLUMNS``."""
    counts = tallies(before), tallies(after)
    first, second = _results(before, cases), _results(after, cases)
    rows = []
    for old, new in models:
        now, past = second.get(new, {}), first.get(old, {})
        for case, passed in now.items():
            if passed is None or past.get(case) in (None, passed):
                continue
            source = _broken(before if passed else after, old if passed else new, case)
            rows.append(
                {
                    "model": old if old == new else f"{old} -> {new}",
                    "case": case,
                    "change": "mended" if passed else "broke",
                    "before": _told(counts[0][old][case]),
                    "after": _told(counts[1][new][case]),
                    **source,
                }
            )
    return typed(sorted(rows, key=lambda row: row["change"] != "broke"), CHANGED_COLUMNS)


def _results(rows: pd.DataFrame, cases: Collection[str]) -> Results:
    return case_results(tallies(rows[rows["case"].isin(list(cases))]), ())


def _told(tally: tuple[int, int]) -> str:
    return f"{tally[0]} of {sum(tally)}"


def _broken(rows: pd.DataFrame, model: str, case: str) -> dict[str, Any]:
    found = rows[rows["model"].isin([model]) & rows["case"].isin([case]) & rows["verdict"].eq("fail")]
    return {name: found[name].iloc[0] for name in ("broken_rules", "output")} if len(found) else {}
