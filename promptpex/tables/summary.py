"""Summaries of a run: a row per model, a row per rule and model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpex.stats import wilson
from promptpex.tables.frames import typed

if TYPE_CHECKING:
    import pandas as pd

MODEL_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "cases": "Int64",
    "outputs": "Int64",
    "scored": "Int64",
    "non_compliant": "Int64",
    "non_compliance": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "unscored": "Int64",
    "errors": "Int64",
    "tokens_in": "Int64",
    "tokens_out": "Int64",
    "cost_usd": "Float64",
    "latency_p50_ms": "Float64",
    "latency_p95_ms": "Float64",
}
"""Columns of ``models``. ``non_compliance`` and its interval are shares of the scored outputs, from 0 to 1;
``errors`` are the outputs without a usable answer, part of ``unscored``; sums are missing where any part is unknown."""

RULE_COLUMNS: Mapping[str, str] = {
    "rule": "string",
    "model": "string",
    "scored": "Int64",
    "broken": "Int64",
    "share": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "unscored": "Int64",
}
"""Columns of ``rules``: how often each model breaks each rule, over the verdicts that count."""

ANSWERED = ["output", "finish_reason", "tokens_in", "tokens_out", "cost_usd", "latency_ms"]
"""What only an output has that came from a model: any of it known means that the request was answered."""


def models(rows: pd.DataFrame, *, order: list[str] | None = None, confidence: float = 0.95) -> pd.DataFrame:
    """A row per model from a table of outputs, in ``order`` (default: as they come); columns ``MODEL_COLUMNS``."""
    groups = {str(name): group for name, group in rows.groupby("model", sort=False, observed=True)}
    names = order if order is not None else list(groups)
    return typed((_model_row(name, groups.get(name), confidence) for name in names), MODEL_COLUMNS)


def rules(cube: pd.DataFrame, *, order: list[str] | None = None, confidence: float = 0.95) -> pd.DataFrame:
    """A row per rule and model from a table of verdicts; columns ``RULE_COLUMNS``."""
    counting = cube[cube["counts"]]
    grouped = counting.groupby(["rule", "model"], sort=False, observed=True)["status"]
    found = [_rule_row(str(rule), str(model), statuses, confidence) for (rule, model), statuses in grouped]
    if order is not None:
        place = {rule: index for index, rule in enumerate(order)}
        found.sort(key=lambda row: place.get(row["rule"], len(place)))
    return typed(found, RULE_COLUMNS)


def _model_row(name: str, group: pd.DataFrame | None, confidence: float) -> dict[str, Any]:
    if group is None:
        return {"model": name, "cases": 0, "outputs": 0, "scored": 0, "non_compliant": 0, "unscored": 0, "errors": 0}
    verdict = group["verdict"]
    scored = int(verdict.isin(["pass", "fail"]).sum())
    broken = int(verdict.eq("fail").sum())
    answered = group[group[ANSWERED].notna().any(axis=1)]
    return {
        "model": name,
        "cases": group["case"].nunique(),
        "outputs": len(group),
        "scored": scored,
        "non_compliant": broken,
        **_share("non_compliance", broken, scored, confidence),
        "unscored": len(group) - scored,
        "errors": int(group["error"].notna().sum()),
        "tokens_in": known_sum(answered["tokens_in"]),
        "tokens_out": known_sum(answered["tokens_out"]),
        "cost_usd": known_sum(answered["cost_usd"]),
        "latency_p50_ms": quantile(group["latency_ms"], 0.5),
        "latency_p95_ms": quantile(group["latency_ms"], 0.95),
    }


def _rule_row(rule: str, model: str, statuses: pd.Series[str], confidence: float) -> dict[str, Any]:
    broken = int(statuses.eq("fail").sum())
    scored = broken + int(statuses.eq("pass").sum())
    return {
        "rule": rule,
        "model": model,
        "scored": scored,
        "broken": broken,
        **_share("share", broken, scored, confidence),
        "unscored": len(statuses) - scored,
    }


def _share(name: str, part: int, whole: int, confidence: float) -> dict[str, float | None]:
    if whole == 0:
        return {name: None, "ci_low": None, "ci_high": None}
    interval = wilson(part, whole, confidence)
    return {name: part / whole, "ci_low": interval.low, "ci_high": interval.high}


def known_sum(values: pd.Series[Any]) -> Any:
    """The sum of the values; None when there are none, or when any of them is unknown."""
    return None if values.empty or values.isna().any() else values.sum()


def quantile(values: pd.Series[Any], share: float) -> float | None:
    """The quantile (linear interpolation) of the known values; None without any."""
    known = values.dropna()
    return float(known.quantile(share)) if len(known) else None
