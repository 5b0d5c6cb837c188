"""Summaries of a run: a row per model, a row per rule and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.stats import bounds
from promptpex.tables.frames import rule_outcomes, typed
from promptpex.tables.repeats import repeats
from promptpex.tables.shares import SHARE_COLUMNS, grouped_shares
from promptpex.tables.standings import Question, Standing, Standings, standings

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
    "passed": "Int64",
    "unscored_reasons": "string",
    "best_case": "Float64",
    "worst_case": "Float64",
    "interval": "string",
    "place": "string",
    "versus": "string",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "beaten_by": "string",
    "more_cases": "Int64",
    "cost_per_output": "Float64",
    "cheapest": "boolean",
    "fastest": "boolean",
    "repeats": "Int64",
    "flickering": "Int64",
    "flip_rate": "Float64",
    "pass_hat_k": "Float64",
}
"""Columns of ``models``. ``non_compliance`` and its interval are shares of the scored outputs, from 0 to 1;
``errors`` are the outputs without a usable answer, part of ``unscored``; sums are missing where any part is unknown.
``best_case`` and ``worst_case`` are the non-compliance if every unscored output had passed, or failed; ``interval`` is
how the interval was made, as in ``SHARE_COLUMNS``, or ``anytime``: by case, and right however often one has looked.
``place`` to ``more_cases`` are as in ``Standing``; ``cheapest`` and ``fastest`` are said of the models that are shown
to be good enough, else of all that are not ruled out. ``repeats`` to ``pass_hat_k`` are as in ``STABILITY_COLUMNS``."""

RULE_COLUMNS: Mapping[str, str] = {"rule": "string", "model": "string", **SHARE_COLUMNS}
"""Columns of ``rules``: how often each model breaks each rule, over the outputs, each once (``rule_outcomes``)."""

ANSWERED = ["output", "finish_reason", "tokens_in", "tokens_out", "cost_usd", "latency_ms"]
"""What only an output has that came from a model: any of it known means that the request was answered."""


def models(
    rows: pd.DataFrame,
    *,
    order: Sequence[str] | None = None,
    confidence: float = 0.95,
    standing: Standings | None = None,
) -> pd.DataFrame:
    """A row per model from a table of outputs, in ``order`` (default: as they come); columns ``MODEL_COLUMNS``.

    Args:
        rows: a table of outputs.
        order: the models, those without outputs too.
        confidence: of the intervals.
        standing: where the models stand; by default as ``standings`` says of these rows.
    """
    names = list(order) if order is not None else [str(name) for name in rows["model"].unique()]
    found = standing or standings(rows, names, Question(confidence=confidence))
    groups = {str(name): group for name, group in rows.groupby("model", sort=False, observed=True)}
    shares = {row["model"]: row for row in grouped_shares(rows, ["model"], "verdict", "rule", confidence)}
    steady = {row["model"]: row for row in repeats(rows, confidence=confidence).to_dict("records")}
    made = [_model_row(name, groups.get(name), shares.get(name, {}), found.models.get(name)) for name in names]
    for row in made:
        row |= {name: steady.get(row["model"], {}).get(name) for name in ("repeats", "flickering", *_RATES)}
    _mark(made, found.pool)
    return typed(made, MODEL_COLUMNS)


_RATES = ("flip_rate", "pass_hat_k")


def rules(cube: pd.DataFrame, *, order: Sequence[str] | None = None, confidence: float = 0.95) -> pd.DataFrame:
    """A row per rule and model from a table of verdicts; columns ``RULE_COLUMNS``."""
    found = list(grouped_shares(rule_outcomes(cube), ["rule", "model"], "status", "aim", confidence))
    if order is not None:
        place = {rule: index for index, rule in enumerate(order)}
        found.sort(key=lambda row: place.get(row["rule"], len(place)))
    return typed(found, RULE_COLUMNS)


def _model_row(
    name: str, group: pd.DataFrame | None, share: Mapping[str, Any], standing: Standing | None
) -> dict[str, Any]:
    told = _standing_cells(standing)
    if group is None:
        counts = dict.fromkeys(["cases", "outputs", "scored", "non_compliant", "unscored", "errors", "passed"], 0)
        return {"model": name, **counts, **told}
    answered = group[group[ANSWERED].notna().any(axis=1)]
    scored, broken, outputs = share["scored"], share["broken"], len(group)
    edge = bounds(broken, scored - broken, outputs - scored)
    reasons = Counter(group.loc[group["verdict"].eq("unscored"), "unscored"].fillna("unknown"))
    cost = known_sum(answered["cost_usd"])
    return {
        "model": name,
        "cases": group["case"].nunique(),
        "outputs": outputs,
        "scored": scored,
        "non_compliant": broken,
        "non_compliance": share.get("share"),
        "ci_low": share.get("ci_low"),
        "ci_high": share.get("ci_high"),
        "unscored": outputs - scored,
        "errors": int(group["error"].notna().sum()),
        "tokens_in": known_sum(answered["tokens_in"]),
        "tokens_out": known_sum(answered["tokens_out"]),
        "cost_usd": cost,
        "latency_p50_ms": quantile(group["latency_ms"], 0.5),
        "latency_p95_ms": quantile(group["latency_ms"], 0.95),
        "passed": scored - broken,
        "unscored_reasons": ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or None,
        "best_case": edge.best,
        "worst_case": edge.worst,
        "interval": share.get("interval"),
        "cost_per_output": None if cost is None else float(cost) / len(answered),
        **told,
    }


def _standing_cells(standing: Standing | None) -> dict[str, Any]:
    if standing is None:
        return {"place": "unscored"}
    cells: dict[str, Any] = {
        "place": standing.place,
        "versus": standing.versus,
        "p": standing.p,
        "beaten_by": standing.beaten_by,
        "more_cases": standing.more_cases,
    }
    if standing.difference is not None:
        apart = standing.difference
        cells |= {"difference": apart.estimate, "difference_low": apart.low, "difference_high": apart.high}
    if standing.anytime is not None and standing.anytime.n:
        cells |= {"ci_low": standing.anytime.low, "ci_high": standing.anytime.high, "interval": "anytime"}
    return cells


def _mark(rows: Sequence[dict[str, Any]], pool: Sequence[str]) -> None:
    """Says which models of the pool cost least and answer soonest, where there is a choice."""
    for flag, column in (("cheapest", "cost_per_output"), ("fastest", "latency_p50_ms")):
        known = [row[column] for row in rows if row["model"] in pool and row.get(column) is not None]
        for row in rows:
            inside = row["model"] in pool and row.get(column) is not None and len(pool) > 1
            row[flag] = (row[column] == min(known)) if inside else None


def known_sum(values: pd.Series[Any]) -> Any:
    """The sum of the values; None when there are none, or when any of them is unknown."""
    return None if values.empty or values.isna().any() else values.sum()


def quantile(values: pd.Series[Any], share: float) -> float | None:
    """The quantile (linear interpolation) of the known values; None without any."""
    known = values.dropna()
    return float(known.quantile(share)) if len(known) else None
