"""Tables shaped like Tables 2 and 3 of PromptPex (arXiv 2503.05070v1), with intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.records import Run
from promptpex.stats import (
    Interval,
    clustered_share,
    count_pairs,
    difference_of_intervals,
    fisher_exact,
    mcnemar,
    newcombe_difference,
    wilson,
)
from promptpex.tables.frames import outputs, typed
from promptpex.tables.repeats import tallies
from promptpex.tables.shares import clusters
from promptpex.tables.standings import case_results

if TYPE_CHECKING:
    import pandas as pd

Tables = dict[str, "pd.DataFrame"]
"""The evaluation's tables by name."""

CONTRAST_COLUMNS: Mapping[str, str] = {
    "benchmark": "string",
    "model": "string",
    "first": "string",
    "first_broken": "Int64",
    "first_n": "Int64",
    "first_share": "Float64",
    "first_low": "Float64",
    "first_high": "Float64",
    "second": "string",
    "second_broken": "Int64",
    "second_n": "Int64",
    "second_share": "Float64",
    "second_low": "Float64",
    "second_high": "Float64",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
}
"""Two groups of cases side by side: broken of scored outputs, with intervals as in the table of models (Wilson's, or
cluster-robust where outputs hang together), the difference (first minus second) with the interval that follows from
both, and the p-value of Fisher's exact test, in which a case counts once: broken unless most of its repeats passed."""

AGREEMENT_COLUMNS: Mapping[str, str] = {
    "benchmark": "string",
    "model": "string",
    "cases": "Int64",
    "prompt_broken": "Int64",
    "spec_broken": "Int64",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "cosine": "Float64",
}
"""Spec agreement: the same cases under the prompt and under its spec as a prompt, each counted once. The difference
(prompt minus spec) of non-compliance is paired, with Newcombe's interval and McNemar's exact p; ``cosine`` is the mean
over the outputs."""

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
"""Shares of cases that are valid and of rules that are grounded, of those that could be told; Wilson's interval."""

FAILED_COLUMNS: Mapping[str, str] = {"benchmark": "string", "reason": "string", "message": "string"}
"""Prompts that a model's failure kept from being evaluated: the reason code, and the error's sentence."""


def suites(name: str, run: Run) -> pd.DataFrame:
    """Table 2: generated against baseline cases, a row per model; columns ``CONTRAST_COLUMNS``."""
    rows = outputs(run)
    return _contrast(name, run, rows[rows["rule"].notna()], rows[rows["rule"].isna()], ("generated", "baseline"))


def sides(name: str, run: Run) -> pd.DataFrame:
    """Table 3: cases of rules against cases of inverse rules, a row per model; columns ``CONTRAST_COLUMNS``."""
    rows = outputs(run)
    aimed = rows[rows["rule"].notna()]
    inverse = aimed["inverse"].fillna(False)
    return _contrast(name, run, aimed[~inverse], aimed[inverse], ("rules", "inverse"))


def agreement_with_spec(
    name: str, run: Run, by_spec: Run | None, cosines: Mapping[str, Sequence[float]]
) -> pd.DataFrame:
    """Spec agreement, a row per model; columns ``AGREEMENT_COLUMNS``."""
    if by_spec is None:
        return typed([], AGREEMENT_COLUMNS)
    ours, theirs = outputs(run), outputs(by_spec)
    return typed((_paired(name, model, ours, theirs, cosines) for model in run.manifest.models), AGREEMENT_COLUMNS)


def stacked(frames: Sequence[pd.DataFrame], columns: Mapping[str, str]) -> pd.DataFrame:
    """The tables, each with ``columns``, one under the other; without rows there are the columns still."""
    import pandas as pd

    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else typed([], columns)


def failed(rows: Sequence[tuple[str, str, str]]) -> pd.DataFrame:
    """Name, reason and message of each failure as a table; columns ``FAILED_COLUMNS``."""
    return typed((dict(zip(FAILED_COLUMNS, row, strict=True)) for row in rows), FAILED_COLUMNS)


def share(name: str, what: str, answers: Sequence[bool | None]) -> dict[str, Any]:
    """One row of ``SHARE_COLUMNS``; None is not known and not counted."""
    told = [answer for answer in answers if answer is not None]
    found = wilson(sum(told), len(told))
    row = {"benchmark": name, "what": what, "yes": sum(told), "n": len(told), "unknown": len(answers) - len(told)}
    return {**row, "share": found.estimate, "low": found.low, "high": found.high}


def shares(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of ``share`` as a table; columns ``SHARE_COLUMNS``."""
    return typed(rows, SHARE_COLUMNS)


def _contrast(name: str, run: Run, first: pd.DataFrame, second: pd.DataFrame, names: tuple[str, str]) -> pd.DataFrame:
    return typed((_row(name, model, first, second, names) for model in run.manifest.models), CONTRAST_COLUMNS)


def _row(name: str, model: str, first: pd.DataFrame, second: pd.DataFrame, names: tuple[str, str]) -> dict[str, Any]:
    groups = [rows[rows["model"].eq(model)] for rows in (first, second)]
    (a, n), (b, m) = (_cases(rows, model) for rows in groups)
    found = _share(groups[0]), _share(groups[1])
    gap = difference_of_intervals(*found)
    row: dict[str, Any] = {"benchmark": name, "model": model, "p": fisher_exact(a, n, b, m) if n and m else None}
    for side, called, rows, told in zip(("first", "second"), names, groups, found, strict=True):
        count = rows["verdict"].value_counts()
        fails, passes = int(count.get("fail", 0)), int(count.get("pass", 0))
        row |= {side: called, f"{side}_broken": fails, f"{side}_n": fails + passes}
        row |= {f"{side}_share": told.estimate, f"{side}_low": told.low, f"{side}_high": told.high}
    return row | {"difference": gap.estimate, "difference_low": gap.low, "difference_high": gap.high}


def _share(rows: pd.DataFrame) -> Interval:
    scored = rows[rows["verdict"].isin(["pass", "fail"])]
    if scored.empty:
        return wilson(0, 0)
    broken = scored["verdict"].eq("fail").astype("int64").groupby(clusters(scored, "rule"))
    return clustered_share(broken.sum().tolist(), broken.size().tolist())


def _cases(rows: pd.DataFrame, model: str) -> tuple[int, int]:
    told = [passed for passed in _passed(rows, model).values() if passed is not None]
    return told.count(False), len(told)


def _passed(rows: pd.DataFrame, model: str) -> Mapping[str, bool | None]:
    return case_results(tallies(rows), [model])[model]


def _paired(
    name: str, model: str, ours: pd.DataFrame, theirs: pd.DataFrame, cosines: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    by_prompt, by_spec = _passed(ours, model), _passed(theirs, model)
    broken = ((_turned(by_prompt.get(case)), _turned(passed)) for case, passed in by_spec.items())
    pairs = count_pairs(broken)
    gap = newcombe_difference(pairs)
    alike = cosines.get(model, ())
    return {
        "benchmark": name,
        "model": model,
        "cases": pairs.n,
        "prompt_broken": pairs.both + pairs.first_only,
        "spec_broken": pairs.both + pairs.second_only,
        "difference": gap.estimate,
        "difference_low": gap.low,
        "difference_high": gap.high,
        "p": mcnemar(pairs) if pairs.n else None,
        "cosine": sum(alike) / len(alike) if alike else None,
    }


def _turned(passed: bool | None) -> bool | None:
    return None if passed is None else not passed
