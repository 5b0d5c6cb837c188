"""Tables shaped like Tables 2 and 3 of PromptPex (arXiv 2503.05070v1), with intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.reproduce.two_groups import groups_p
from promptpex.core.records import Run
from promptpex.stats import (
    Completion,
    Interval,
    clopper_pearson,
    difference_interval,
    difference_of_intervals,
    pair,
    share_interval,
    sign_flip_p,
)
from promptpex.stats import share as mean_share
from promptpex.tables import Table, outputs
from promptpex.tables.counts_per_case import Counted, counted
from promptpex.tables.proportions import estimated

if TYPE_CHECKING:
    import pandas as pd

Tables = dict[str, "pd.DataFrame"]
"""The evaluation's tables by name."""

CONFIDENCE = 0.95

CONTRAST_COLUMNS: Mapping[str, str] = {
    "benchmark": "string",
    "model": "string",
    "first": "string",
    "first_broken": "Int64",
    "first_n": "Int64",
    "first_unscored": "Int64",
    "first_share": "Float64",
    "first_low": "Float64",
    "first_high": "Float64",
    "first_at_least": "boolean",
    "second": "string",
    "second_broken": "Int64",
    "second_n": "Int64",
    "second_unscored": "Int64",
    "second_share": "Float64",
    "second_low": "Float64",
    "second_high": "Float64",
    "second_at_least": "boolean",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
}
"""Two groups of cases side by side. ``broken`` are outputs that break a rule, of ``n`` scored ones. ``share`` is the
mean over the cases of the case's mean over its repeats, with its interval from ``low`` to ``high``, and ``at_least``
says that it is a lower bound; all four are missing where ``n`` is 0: all as in the table of models, with one
correlation of repeats for both groups and all models. ``difference``, first minus second, has the interval that
follows from both; where verdicts are missing it has no estimate, and the interval is all that they leave possible.
``p`` is that of the exact permutation test of the cases between the groups (with one repeat Fisher's exact test), at
the completion of the unscored outputs that speaks most against a difference; missing where a group has no scored
output."""

AGREEMENT_COLUMNS: Mapping[str, str] = {
    "benchmark": "string",
    "model": "string",
    "cases": "Int64",
    "unscored": "Int64",
    "prompt_broken": "Int64",
    "prompt_scored": "Int64",
    "prompt_share": "Float64",
    "spec_broken": "Int64",
    "spec_scored": "Int64",
    "spec_share": "Float64",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "cosine": "Float64",
}
"""Spec agreement: the same cases under the prompt and under its spec as a prompt. ``cases`` are scored under both,
``unscored`` further ones were asked under both and are left out. Of ``cases``, ``broken`` and ``scored`` are outputs,
and ``share`` is the mean over the cases of the case's mean over its repeats. The difference, prompt minus spec, is
paired, with Tango's interval and the p-value of exact sign flips of the cases' differences; ``cosine`` is the mean over
the outputs."""

SHARE_COLUMNS: Mapping[str, str] = {
    "benchmark": "string",
    "what": "string",
    "yes": "Int64",
    "n": "Int64",
    "unknown": "Int64",
    "share": "Float64",
    "low": "Float64",
    "high": "Float64",
}
"""Shares of cases that are valid and of rules that are grounded, of those with an answer; the exact interval of
Clopper and Pearson."""

FAILED_COLUMNS: Mapping[str, str] = {"benchmark": "string", "reason": "string", "message": "string"}
"""Prompts that a model's failure kept from being evaluated: the reason code, and the error's sentence."""


def suites(name: str, run: Run) -> pd.DataFrame:
    """Table 2: generated against baseline cases, a row per model; columns ``CONTRAST_COLUMNS``."""
    rows = outputs(run)
    return _contrast(name, run, rows, rows["rule"].notna(), ("generated", "baseline"))


def sides(name: str, run: Run) -> pd.DataFrame:
    """Table 3: cases of rules against cases of inverse rules, a row per model; columns ``CONTRAST_COLUMNS``."""
    rows = outputs(run)
    aimed = rows[rows["rule"].notna()]
    return _contrast(name, run, aimed, ~aimed["inverse"].fillna(False), ("rules", "inverse"))


def agreement_with_spec(
    name: str, run: Run, by_spec: Run | None, cosines: Mapping[str, Sequence[float]]
) -> pd.DataFrame:
    """Spec agreement, a row per model; columns ``AGREEMENT_COLUMNS``."""
    if by_spec is None:
        return Table.of([], AGREEMENT_COLUMNS).frame()
    ours, spec_outputs = outputs(run), outputs(by_spec)
    return Table.of(
        (_paired(name, model, ours, spec_outputs, cosines) for model in run.manifest.models), AGREEMENT_COLUMNS
    ).frame()


def stacked(frames: Sequence[pd.DataFrame], columns: Mapping[str, str]) -> pd.DataFrame:
    """The tables, each with ``columns``, one under the other; without rows there are the columns still."""
    import pandas as pd

    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else Table.of([], columns).frame()


def failed(rows: Sequence[tuple[str, str, str]]) -> pd.DataFrame:
    """Name, reason and message of each failure as a table; columns ``FAILED_COLUMNS``."""
    return Table.of((dict(zip(FAILED_COLUMNS, row, strict=True)) for row in rows), FAILED_COLUMNS).frame()


def share(name: str, what: str, answers: Sequence[bool | None]) -> dict[str, Any]:
    """One row of ``SHARE_COLUMNS``; None is not known and not counted."""
    answered = [answer for answer in answers if answer is not None]
    interval = clopper_pearson(sum(answered), len(answered), CONFIDENCE)
    row = {
        "benchmark": name,
        "what": what,
        "yes": sum(answered),
        "n": len(answered),
        "unknown": len(answers) - len(answered),
    }
    return {**row, "share": interval.estimate, "low": interval.low, "high": interval.high}


def shares(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of ``share`` as a table; columns ``SHARE_COLUMNS``."""
    return Table.of(rows, SHARE_COLUMNS).frame()


def _contrast(name: str, run: Run, rows: pd.DataFrame, first: pd.Series[bool], names: tuple[str, str]) -> pd.DataFrame:
    models = run.manifest.models
    groups = counted(rows[first], models), counted(rows[~first], models)
    rows_of_models = (_row(model, number, groups, names) for number, model in enumerate(models))
    return Table.of(({"benchmark": name, **row} for row in rows_of_models), CONTRAST_COLUMNS).frame()


def _row(model: str, number: int, groups: tuple[Counted, Counted], names: tuple[str, str]) -> dict[str, Any]:
    row: dict[str, Any] = {"model": model}
    for side, called, group in zip(("first", "second"), names, groups, strict=True):
        grid = group.asked
        estimate = estimated(group.usable, number, CONFIDENCE)
        row |= {side: called, f"{side}_broken": int(grid.broken[number].sum()), f"{side}_n": grid.scored(number)}
        row |= {f"{side}_unscored": grid.missing(number) + group.not_asked[model]}
        if grid.scored(number):
            row |= {f"{side}_share": estimate.estimate, f"{side}_low": estimate.low, f"{side}_high": estimate.high}
            row |= {f"{side}_at_least": bool(group.usable.missing(number))}
    gap = _gap(groups, number)
    row |= {"difference": gap.estimate, "difference_low": gap.low, "difference_high": gap.high}
    tested = row["first_n"] and row["second_n"]
    return row | {"p": groups_p(groups[0].asked, groups[1].asked, number) if tested else None}


def _gap(groups: tuple[Counted, Counted], number: int) -> Interval:
    """The difference of the groups on what was scored; where verdicts are missing, all that they leave possible."""
    first, second = (group.usable for group in groups)

    def gap(one: Completion, other: Completion) -> Interval:
        ends = (
            share_interval(grid, number, confidence=CONFIDENCE, completion=how)
            for grid, how in ((first, one), (second, other))
        )
        return difference_of_intervals(*ends)

    if not first.missing(number) and not second.missing(number):
        return gap("seen", "seen")
    return replace(gap("best", "worst"), estimate=None, high=gap("worst", "best").high)


def _paired(
    name: str, model: str, ours: pd.DataFrame, theirs: pd.DataFrame, cosines: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    import numpy as np
    import pandas as pd

    parts = []
    for called, rows in (("prompt", ours), ("spec", theirs)):
        model_rows = rows[rows["model"].isin([model])]
        parts.append(model_rows.assign(model=pd.array([called] * len(model_rows), dtype="string[python]")))
    grid = counted(pd.concat(parts, ignore_index=True), ("prompt", "spec")).asked
    both = grid.only(np.flatnonzero((grid.sizes("seen") > 0).all(axis=0)))
    pairs, alike = pair(both, 0, 1), cosines.get(model, ())
    gap = difference_interval(pairs, CONFIDENCE)
    row: dict[str, Any] = {"benchmark": name, "model": model, "cases": pairs.n}
    for number, called in enumerate(both.models):
        row |= {f"{called}_broken": int(both.broken[number].sum()), f"{called}_scored": both.scored(number)}
        row |= {f"{called}_share": mean_share(both, number)}
    return row | {
        "unscored": int((grid.asked > 0).all(axis=0).sum()) - pairs.n,
        "difference": gap.estimate,
        "difference_low": gap.low,
        "difference_high": gap.high,
        "p": sign_flip_p(pairs.whole) if pairs.n else None,
        "cosine": sum(alike) / len(alike) if alike else None,
    }
