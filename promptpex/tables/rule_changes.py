"""Two runs side by side, rule by rule: which rules a model is shown to break more or less often on the same cases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from promptpex.stats import Grid, holm
from promptpex.tables.compare_runs import (
    AFTER,
    BEFORE,
    FIGURES_OF_BOTH,
    WHEN,
    figures_of_both,
    likelier_change,
    name_in_both,
    without_contradiction,
)
from promptpex.tables.counts_per_case import Counted, Weights, weighed
from promptpex.tables.paired_cells import RUNS
from promptpex.tables.rankings import missing_in_words
from promptpex.tables.rule_counts import RuleCounts
from promptpex.tables.run_rows import Source, database_of
from promptpex.tables.table import Table

RULE_CHANGE_COLUMNS: Mapping[str, str] = {
    "rule": "string",
    "model": "string",
    **FIGURES_OF_BOTH,
    "undecided_because": "string",
}
"""Columns of ``rule_changes``: as those of ``comparison``, of the outputs that each rule concerns in both runs.
``p_adjusted`` is corrected by Holm over all rules and models of which a case came out otherwise, or may have, since an
output is unscored: the others could not show a change, whatever the correction."""


def rule_changes(
    before: Source | RuleCounts,
    after: Source | RuleCounts,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float = 0.95,
    weights: Weights | None = None,
    same_texts: Sequence[Collection[str]] = (),
    unlike: Collection[str] = (),
) -> Table:
    """A row per rule and model that a case of both runs was scored by; columns ``RULE_CHANGE_COLUMNS``.

    Args:
        before, after: tables of verdicts, or their counts.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
        confidence: of the intervals; its complement is the error rate over all rules and models together.
        weights: how many times each case counts.
        same_texts: for each model the cases whose answers are the same in both runs: they decide nothing.
        unlike: the rules that were not decided alike: nothing is decided about them.
    """
    old, new, ids = _rule_counts(before), _rule_counts(after), list(cases)
    shared = [rule for rule in new.concerning if rule in old.concerning]
    texts = same_texts or [()] * len(models)
    rows, tested = [], []
    for rule in shared:
        for names, same in zip(models, texts, strict=True):
            counts = _counts_of_both((old, new), rule, names, ids, weights)
            rows.append(_cells(rule, names, counts, confidence))
            if rule not in unlike:
                others = [case for case in ids if case not in same]
                tested.append((rows[-1], _counts_of_both((old, new), rule, names, others, weights)))
    _decide(tested, confidence)
    return Table.of((without_contradiction(row) for row in rows if row["cases"]), RULE_CHANGE_COLUMNS)


def _rule_counts(source: Source | RuleCounts) -> RuleCounts:
    return source if isinstance(source, RuleCounts) else RuleCounts(database_of(source))


def _counts_of_both(
    runs: tuple[RuleCounts, RuleCounts],
    rule: str,
    names: tuple[str, str],
    cases: Sequence[str],
    weights: Weights | None,
) -> Counted:
    """Both runs of one model as rows ``BEFORE`` and ``AFTER`` of counts, of the outputs that a rule concerns."""
    import numpy as np

    sides = np.stack([run.of_cases(rule, name, cases) for run, name in zip(runs, names, strict=True)])
    (cases_with_counts,) = np.nonzero(sides.any(axis=(0, 2)))
    sides, ids = sides[:, cases_with_counts], [cases[at] for at in cases_with_counts.tolist()]
    targets = {**runs[AFTER].aims(ids), **runs[BEFORE].aims(ids)}
    aims, inverse = [targets[case][0] for case in ids], [targets[case][1] for case in ids]
    times = np.array(weighed(aims, inverse, weights), dtype=np.int64)
    broken, kept, left_open, lost = (np.ascontiguousarray(sides[:, :, kind]) for kind in range(4))
    counting = np.flatnonzero(times)
    return Counted(
        asked=Grid(RUNS, broken, kept, left_open + lost, times).only(counting),
        usable=Grid(RUNS, broken, kept, left_open, times).only(counting),
        not_asked={},
        answered={},
    )


def _cells(rule: str, names: tuple[str, str], counts: Counted, confidence: float) -> dict[str, Any]:
    figures = figures_of_both(counts, confidence)
    return {"rule": rule, "model": name_in_both(*names), **figures, "decision": "undecided"}


def _decide(rows: Sequence[tuple[dict[str, Any], Counted]], confidence: float) -> None:
    """Adds to the cells of each rule and model of which a case came out otherwise, or may have, whether the change is
    shown."""
    alpha = round(1.0 - confidence, 12)
    open_ = [bool(counts.asked.open.any()) for _, counts in rows]
    changed = [one for one, lost in zip(rows, open_, strict=True) if lost or one[0]["newly_failing"] or one[0]["fixed"]]
    changes = [likelier_change(counts.asked) for _, counts in changed]
    adjusted = holm([p for _, p in changes])
    adjusted_as_observed = holm([likelier_change(counts.asked, reading="seen")[1] for _, counts in changed])
    for number, (row, counts) in enumerate(changed):
        change, p = changes[number]
        is_significant = adjusted[number] <= alpha
        because = (
            missing_in_words(counts.asked, WHEN)
            if not is_significant and adjusted_as_observed[number] <= alpha
            else None
        )
        row |= {
            "p": p,
            "p_adjusted": adjusted[number],
            "decision": change if is_significant else "undecided",
            "undecided_because": because,
        }
