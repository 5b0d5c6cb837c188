"""Tables shaped like Tables 2 and 3 of PromptPex (arXiv 2503.05070v1), with intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.records import Run
from promptpex.stats import count_pairs, difference_of_shares, fisher_exact, mcnemar, newcombe_difference, wilson
from promptpex.tables.frames import outputs, typed

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
"""Two groups of cases side by side: broken of scored outputs, shares with Wilson's intervals, the difference (first
minus second) with Newcombe's, and the p-value of Fisher's exact test."""

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
"""Spec agreement: the same cases under the prompt and under its spec as a prompt. The difference (prompt minus spec) of
non-compliance is paired, with Newcombe's interval and McNemar's exact p; ``cosine`` is the mean over the cases."""

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
    ours, theirs = _broken(outputs(run)), _broken(outputs(by_spec))
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
    (a, n), (b, m) = _counted(first, model), _counted(second, model)
    gap = difference_of_shares(a, n, b, m)
    row: dict[str, Any] = {"benchmark": name, "model": model, "p": fisher_exact(a, n, b, m) if n and m else None}
    for side, called, (broken, scored) in (("first", names[0], (a, n)), ("second", names[1], (b, m))):
        found = wilson(broken, scored)
        row |= {side: called, f"{side}_broken": broken, f"{side}_n": scored, f"{side}_share": found.estimate}
        row |= {f"{side}_low": found.low, f"{side}_high": found.high}
    return row | {"difference": gap.estimate, "difference_low": gap.low, "difference_high": gap.high}


def _counted(rows: pd.DataFrame, model: str) -> tuple[int, int]:
    verdict = rows.loc[rows["model"].eq(model), "verdict"]
    return int(verdict.eq("fail").sum()), int(verdict.isin(["pass", "fail"]).sum())


def _broken(rows: pd.DataFrame) -> dict[tuple[str, str, int], bool | None]:
    known = {"fail": True, "pass": False}
    keys = zip(rows["model"], rows["case"], rows["repeat"], strict=True)
    return {key: known.get(verdict) for key, verdict in zip(keys, rows["verdict"], strict=True)}


def _paired(
    name: str,
    model: str,
    ours: Mapping[tuple[str, str, int], bool | None],
    theirs: Mapping[tuple[str, str, int], bool | None],
    cosines: Mapping[str, Sequence[float]],
) -> dict[str, Any]:
    keys = [key for key in theirs if key[0] == model]
    pairs = count_pairs((ours.get(key), theirs[key]) for key in keys)
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
