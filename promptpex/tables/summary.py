"""Summaries of a run: a row per model, a row per rule and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpex.stats import share, share_interval
from promptpex.tables.accuracy import ACCURACY_COLUMNS, accuracy_cells, mirrored
from promptpex.tables.counts_per_case import Cells, Counted, counted
from promptpex.tables.database_sql import BROKEN, CUT_OFF, KEPT
from promptpex.tables.proportions import PROPORTION_COLUMNS, estimated
from promptpex.tables.rankings import Decision, RankingOptions, Rankings, rankings
from promptpex.tables.repeats import repeats
from promptpex.tables.rule_counts import RuleCounts
from promptpex.tables.run_rows import Rows, Source, database_of, rows_of
from promptpex.tables.table import Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MODEL_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "cases": "Int64",
    "outputs": "Int64",
    "scored": "Int64",
    "non_compliant": "Int64",
    "non_compliance": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "at_least": "boolean",
    "unscored": "Int64",
    "errors": "Int64",
    "not_asked": "Int64",
    "chosen_by_outcome": "boolean",
    "usable": "Int64",
    "tokens_in": "Int64",
    "tokens_out": "Int64",
    "cost_usd": "Float64",
    "latency_p50_ms": "Float64",
    "latency_p95_ms": "Float64",
    "passed": "Int64",
    "contradicted": "Int64",
    "unscored_reasons": "string",
    "best_case": "Float64",
    "worst_case": "Float64",
    "worst_low": "Float64",
    "worst_high": "Float64",
    "interval": "string",
    "decision": "string",
    "undecided_because": "string",
    "dropped_after": "Int64",
    "versus": "string",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "beaten_by": "string",
    "answered": "Int64",
    "timed": "Int64",
    "cost_per_output": "Float64",
    "cheapest": "boolean",
    "fastest": "boolean",
    "repeats": "Int64",
    "flaky": "Int64",
    "flip_rate": "Float64",
    "pass_at_k": "Float64",
    "pass_hat_k": "Float64",
    **ACCURACY_COLUMNS,
}
"""Columns of ``models``. Where the cases were ``chosen_by_outcome`` every share, interval and decision is missing, in
``report.csv`` too. ``non_compliance`` is the mean over the cases of the share of their scored outputs that break
a rule, from 0 to 1; where usable answers have no verdict (``at_least``) of all their usable answers, a lower bound, and
the interval holds whatever the verdicts would have been. ``errors`` are the outputs without a usable answer and
``not_asked`` those that a budget, a deadline or a stop left unasked or unjudged, both part of ``unscored``; ``usable``
are the answers that were there to be judged, ``answered`` all that a model gave, ``timed`` those whose latency is
known; sums are missing where any part is unknown. ``contradicted`` are the failures that rest only on checks which a
judge contradicts. ``best_case`` and ``worst_case`` are the non-compliance if every
output that was asked for and could not be scored had passed, or failed; ``worst_low`` and ``worst_high`` the
interval's ends in the second case. ``interval`` is how it was made, as in ``PROPORTION_COLUMNS``. ``decision`` to
``beaten_by`` are as in ``Decision``; ``cheapest`` and ``fastest`` are said of the models that are shown to be good
enough, else of all that are not ruled out; a model some of whose requests were cut is not the fastest. ``repeats`` to
``pass_hat_k`` are as in ``STABILITY_COLUMNS``, the rest as
in ``ACCURACY_COLUMNS``."""

RULE_COLUMNS: Mapping[str, str] = {
    "rule": "string",
    "model": "string",
    **PROPORTION_COLUMNS,
    "not_concerned": "Int64",
}
"""Columns of ``rules``: how often each model breaks each rule. An output counts once for a rule, however many verdicts
on it count. ``not_concerned`` are the outputs that a rule with a condition does not concern; they are in no other
column."""


def models(
    source: Source,
    *,
    order: Sequence[str] | None = None,
    confidence: float = 0.95,
    ranking: Rankings | None = None,
    expected: Source | None = None,
) -> Table:
    """A row per model from a table of outputs, in ``order`` (default: as they come); columns ``MODEL_COLUMNS``.

    Args:
        source: a run, or a table of outputs.
        order: the models, those without outputs too.
        confidence: of the intervals, where no ``ranking`` is given.
        ranking: the decisions about the models; by default those of ``rankings`` on these rows.
        expected: which outputs are right (``expected_outcomes``); without it the accuracy is missing.
    """
    rows = rows_of(source)
    cells = Cells.of(rows)
    names = list(order) if order is not None else list(cells.models)
    ranking = ranking or rankings(cells, names, RankingOptions(confidence=confidence))
    higher_is_better = ranking.options.rank_by not in ("non-compliance", "corrected")
    of_repeats = {row["model"]: row for row in repeats(rows, confidence=ranking.options.confidence).records()}
    figures = Figures(counted(cells, names, weights=ranking.options.weights), ranking)
    right = None if expected is None else Figures(counted(expected, names, weights=ranking.options.weights), ranking)
    table = [
        {
            "model": name,
            "chosen_by_outcome": False,
            **_group_cells(rows, name),
            **figures.of_model(name),
            **({} if right is None else right.accuracy_of(name)),
            **_decision_cells(ranking.models.get(name), higher_is_better=higher_is_better),
            **{column: of_repeats.get(name, {}).get(column) for column in _OF_REPEATS},
        }
        for name in names
    ]
    cut = rows.query("DISTINCT m.name", f"WHERE o.error IN {CUT_OFF}")
    _mark(table, ranking.pool, cut={name for (name,) in cut})
    return Table.of(table, MODEL_COLUMNS)


_OF_REPEATS = ("repeats", "flaky", "flip_rate", "pass_at_k", "pass_hat_k")


def rules(source: Source, *, order: Sequence[str] | None = None, confidence: float = 0.95) -> Table:
    """A row per rule and model from a table of verdicts; columns ``RULE_COLUMNS``.

    Args:
        source: a run, or a table of verdicts.
        order: the rules; others come after them.
        confidence: of the intervals.
    """
    return Table.of(RuleCounts(database_of(source)).rows(order or (), confidence), RULE_COLUMNS)


@dataclass(frozen=True, slots=True)
class Figures:
    """The shares of the models of one report.

    Attributes:
        counts: the outputs of all models.
        ranking: the decisions about the models.
    """

    counts: Counted
    ranking: Rankings

    def of_model(self, name: str) -> dict[str, Any]:
        """The cells of a model."""
        counts, row = self.counts, self.counts.asked.row(name)
        scored, broken = counts.asked.scored(row), int(counts.asked.broken[row].sum())
        cells = {
            "scored": scored,
            "non_compliant": broken,
            "passed": scored - broken,
            "not_asked": counts.not_asked[name],
            "usable": int(counts.usable.asked[row].sum()),
            "best_case": share(counts.asked, row, "best"),
            "worst_case": share(counts.asked, row, "worst"),
        }
        if not scored:
            return cells
        level = self.ranking.options.confidence
        interval = estimated(counts.usable, row, level)
        worst = share_interval(counts.asked, row, confidence=level, completion="worst")
        return cells | {
            "non_compliance": interval.estimate,
            "ci_low": interval.low,
            "ci_high": interval.high,
            "at_least": bool(counts.usable.missing(row)),
            "worst_low": worst.low,
            "worst_high": worst.high,
            "interval": interval.method,
        }

    def accuracy_of(self, name: str) -> dict[str, Any]:
        """The cells of a model's accuracy, where the counts are of right and wrong outputs."""
        return accuracy_cells(self.counts, name, self.ranking.options.confidence)


def _group_cells(rows: Rows, model: str) -> dict[str, Any]:
    own = "WHERE m.name = CAST(? AS TEXT)"
    cells = dict(zip(_COUNTS, next(rows.query(", ".join(_COUNTS.values()), own, [model])), strict=True))
    open_ = f"{own} AND t.kind NOT IN ({BROKEN}, {KEPT}) GROUP BY t.unscored ORDER BY min(t.place)"
    reasons = Counter(dict(rows.query("coalesce(t.unscored, 'judge not asked'), count(*)", open_, [model])))
    costs = [cost for (cost,) in rows.query("o.cost_usd", f"{own} AND {_IS_ANSWERED} ORDER BY t.place", [model])]
    timed = rows.query("o.latency_ms", f"{own} AND o.latency_ms IS NOT NULL ORDER BY t.place", [model])
    times, cost = np_array(time for (time,) in timed), known_sum(costs)
    return {
        **cells,
        "cost_usd": cost,
        "latency_p50_ms": quantile(times, 0.5),
        "latency_p95_ms": quantile(times, 0.95),
        "unscored_reasons": ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or None,
        "timed": len(times),
        "cost_per_output": None if cost is None else cost / len(costs),
    }


ANSWERED = ("text", "finish_reason", "tokens_in", "tokens_out", "cost_usd", "latency_ms")
"""What only an output has that came from a model: any of it known means that the request was answered."""
_IS_ANSWERED = f"coalesce({', '.join(f'o.{name}' for name in ANSWERED)}) IS NOT NULL"


def _total(name: str) -> str:
    """A sum over the answered outputs; missing where there are none, or where any is unknown."""
    known = f"count(CASE WHEN {_IS_ANSWERED} THEN o.{name} END)"
    return f"CASE WHEN {known} = total({_IS_ANSWERED}) THEN sum(CASE WHEN {_IS_ANSWERED} THEN o.{name} END) END"


_COUNTS = {
    "cases": "count(DISTINCT c.number)",
    "outputs": "count(*)",
    "unscored": f"count(CASE WHEN t.kind NOT IN ({BROKEN}, {KEPT}) THEN 1 END)",
    "errors": "count(o.error)",
    "contradicted": f"count(CASE WHEN t.kind = {BROKEN} AND t.contradicted THEN 1 END)",
    "tokens_in": _total("tokens_in"),
    "tokens_out": _total("tokens_out"),
    "answered": f"count(CASE WHEN {_IS_ANSWERED} THEN 1 END)",
}
"""What is counted of the outputs of a model."""


def _decision_cells(decision: Decision | None, *, higher_is_better: bool) -> dict[str, Any]:
    """The cells of a decision; the difference is in what the models are ranked by."""
    if decision is None:
        return {"decision": "unscored"}
    gap = decision.difference
    if gap is not None and higher_is_better:
        gap = mirrored(gap)
    return {
        "decision": decision.outcome,
        "undecided_because": decision.because,
        "dropped_after": decision.dropped_after,
        "versus": decision.versus,
        "p": decision.p,
        "beaten_by": decision.beaten_by,
        **({"difference": gap.estimate, "difference_low": gap.low, "difference_high": gap.high} if gap else {}),
    }


def without_claims(table: Table) -> Table:
    """A table of figures with its counts, costs and latencies alone: what is left where the cases were chosen by their
    outcome, so that no share says anything of a model."""
    claims = [
        name
        for name, kind in table.kinds.items()
        if name in _OF_DECISIONS or (kind == "Float64" and name not in _MEASURED)
    ]
    table = table.without_values(claims)
    if "chosen_by_outcome" not in table:
        return table
    return table.with_columns({}, {"chosen_by_outcome": [True] * len(table)})


_MEASURED = ("cost_usd", "cost_per_output", "latency_p50_ms", "latency_p95_ms")
_OF_DECISIONS = (
    "at_least",
    "accuracy_at_least",
    "interval",
    "decision",
    "regression",
    "undecided_because",
    "versus",
    "beaten_by",
    "cheapest",
    "fastest",
    "within_tolerance",
    "accuracy_decision",
    "accuracy_undecided_because",
    "accuracy_within_tolerance",
)


def _mark(rows: Sequence[dict[str, Any]], pool: Sequence[str], cut: Collection[str]) -> None:
    """Says which models of the pool cost least and answer soonest, where there is a choice; of those in ``cut`` the
    slowest answers are missing, so that none of them is called the fastest."""
    for flag, column in (("cheapest", "cost_per_output"), ("fastest", "latency_p50_ms")):
        values = [row[column] for row in rows if row["model"] in pool and row.get(column) is not None]
        for row in rows:
            inside = row["model"] in pool and row.get(column) is not None and len(pool) > 1
            known = flag == "cheapest" or row["model"] not in cut
            row[flag] = (known and row[column] == min(values)) if inside else None


def known_sum(values: Sequence[float | None]) -> float | None:
    """The sum of numbers; None when there are none, or when any of them is unknown."""
    known = [value for value in values if value is not None]
    return float(np_array(known).sum()) if known and len(known) == len(values) else None


def np_array(values: Iterable[float]) -> npt.NDArray[np.float64]:
    """Numbers as an array."""
    import numpy as np

    return np.fromiter(values, np.float64)


def quantile(known: npt.NDArray[np.float64], share: float) -> float | None:
    """The quantile (linear interpolation) of known values; None without any."""
    import numpy as np

    return float(np.percentile(known, share * 100.0)) if len(known) else None
