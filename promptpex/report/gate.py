"""A gate for CI: limits that no model of a run may exceed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from promptpex.codecs.wording import did_you_mean, plural, with_hint
from promptpex.core.errors import InputError
from promptpex.report.percentages import FINEST, TableRow, as_given, ends, percent

Decide = Literal["point", "low", "high"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What is asked of each model.

    Attributes:
        max_non_compliance: the highest share of scored outputs that may break a rule; None: any.
        of_model: the same for single models, over the general one.
        min_accuracy: the lowest accuracy; None: any. accuracy_of_model: the same for single models.
        min_metrics: the lowest mean of each of the owner's metrics that is named.
        min_scored: the fewest scored outputs.
        decide: what is held against the limit: the ``point``, the ``low`` end of the interval (fails only what is shown
            to be above) or the ``high`` end (passes only what is shown not to be above). Of accuracy and metrics it
            is the other end each: ``low`` fails only what is shown to be below, ``high`` passes only what is shown not
            to be.
    """

    max_non_compliance: float | None = None
    of_model: Mapping[str, float] = field(default_factory=dict)
    min_accuracy: float | None = None
    accuracy_of_model: Mapping[str, float] = field(default_factory=dict)
    min_metrics: Mapping[str, float] = field(default_factory=dict)
    min_scored: int = 0
    decide: Decide = "point"


SEEN = {"point": "non_compliance", "low": "ci_low", "high": "ci_high"}
AT_WORST = {"point": "worst_case", "low": "worst_low", "high": "worst_high"}
"""The same figures if all that was asked for and could not be scored had failed: a gate passes on these alone."""
ACCURACY_SEEN = {"point": "accuracy", "low": "accuracy_ci_high", "high": "accuracy_ci_low"}
ACCURACY_AT_WORST = {"point": "accuracy_worst", "low": "accuracy_worst_high", "high": "accuracy_worst_low"}
"""Of accuracy; at worst all that could not be compared was wrong."""

METRIC_SEEN = {"point": "mean", "low": "ci_high", "high": "ci_low"}
METRIC_AT_WORST = {"point": "worst_case", "low": "worst_high", "high": "ci_low"}
"""Of a metric; at worst all missing scores were 0, and the lower end of the interval holds whatever they are."""


def breaches(rows: Sequence[TableRow], limits: Limits, metrics: Sequence[TableRow] = ()) -> dict[str, list[str]]:
    """Per model which limits it exceeds, in words; an empty list for a model that passes.

    A model passes only if it passes however its unscored outputs would have come out.

    Args:
        rows: a table of models (``tables.MODEL_COLUMNS``) as plain rows.
        limits: what is asked.
        metrics: a table of metrics (``tables.METRIC_COLUMNS``) as plain rows.

    Raises:
        InputError: a limit is for a model or a metric that the run does not have.
    """
    names = [row["model"] for row in rows]
    unknown = [model for model in (*limits.of_model, *limits.accuracy_of_model) if model not in names]
    if unknown:
        raise InputError(f"{unknown[0]} is not a model of the run; its models are {', '.join(names)}")
    by_metric = _counting(metrics)
    _refuse_unknown(limits.min_metrics, [name for _, name in by_metric])
    return {
        row["model"]: [
            *_of_model(row, limits),
            *_of_accuracy(row, limits),
            *chain.from_iterable(
                _of_metric(by_metric.get((row["model"], name)), name, limit, limits.decide)
                for name, limit in limits.min_metrics.items()
            ),
        ]
        for row in rows
    }


def _counting(metrics: Sequence[TableRow]) -> dict[tuple[str, str], TableRow]:
    """The rows of the scores that count, by model and metric."""
    return {(row["model"], row["metric"]): row for row in metrics if row["counts"]}


def _refuse_unknown(named: Iterable[str], known: Sequence[str]) -> None:
    names = tuple(dict.fromkeys(known))
    for name in named:
        if name not in names:
            has = f"its metrics are {', '.join(names)}" if names else "it has none"
            message = f"{name!r} is not a metric of the run; {has}"
            raise InputError(with_hint(message, did_you_mean(name, names)))


def _of_model(row: TableRow, limits: Limits) -> Iterator[str]:
    if row["scored"] < limits.min_scored:
        yield f"{plural(row['scored'], 'scored output')}, fewer than {limits.min_scored}"
    limit = limits.of_model.get(row["model"], limits.max_non_compliance)
    if limit is None:
        return
    if not row["scored"]:
        yield "nothing was scored"
        return
    figure, worst = row[SEEN[limits.decide]], row[AT_WORST[limits.decide]]
    if figure > limit:
        yield _above(limits.decide, figure, limit)
    elif worst > limit:
        missing = row["unscored"] - row["not_asked"]
        outputs = row["outputs"] - row["not_asked"]
        verb, they = ("is", "it") if missing == 1 else ("are", "they")
        above = _above(limits.decide, worst, limit)
        yield f"{missing} of {plural(outputs, 'output')} {verb} unscored; had {they} failed, {above}"


def _of_accuracy(row: TableRow, limits: Limits) -> Iterator[str]:
    limit = limits.accuracy_of_model.get(row["model"], limits.min_accuracy)
    if limit is None:
        return
    if not row["accuracy_scored"]:
        yield "no output was compared with an expected one"
        return
    figure, worst = row[ACCURACY_SEEN[limits.decide]], row[ACCURACY_AT_WORST[limits.decide]]
    if figure < limit:
        yield _below(limits.decide, figure, limit)
    elif worst < limit:
        missing = row["accuracy_unscored"]
        verb, they = ("is", "it") if missing == 1 else ("are", "they")
        of = plural(row["accuracy_scored"] + missing, "output")
        below = _below(limits.decide, worst, limit)
        yield f"{missing} of {of} with an expected one {verb} unscored; had {they} been wrong, {below}"


def _of_metric(row: TableRow | None, name: str, limit: float, decide: Decide) -> Iterator[str]:
    if row is None or not row["scored"] or row["mean"] is None:
        yield f"no output has a score by {name}"
        return
    figure, worst = row[METRIC_SEEN[decide]], row[METRIC_AT_WORST[decide]]
    if figure < limit:
        yield _below(decide, figure, limit, name)
    elif worst < limit:
        missing = row["unscored"]
        verb, they = ("has", "it") if missing == 1 else ("have", "they")
        of = plural(row["scored"] + missing, "output")
        yield f"{missing} of {of} {verb} no score by {name}; were {they} worth 0, {_below(decide, worst, limit, name)}"


def stated(row: TableRow, metrics: Sequence[TableRow] = ()) -> str:
    """Why a model passed: its figures with their intervals, and on how many outputs they rest."""
    scored = plural(row["scored"], "scored output")
    others = f"{_accuracy(row)}{''.join(map(_metric, _of_its_own(row, metrics)))}"
    if row["non_compliance"] is None:
        return f"{scored}{others}"
    share = ("at least " if row["at_least"] else "") + percent(row["non_compliance"])
    return f"non-compliance is {share} (CI {ends(row['ci_low'], row['ci_high'])}), {scored}{others}"


def _of_its_own(row: TableRow, metrics: Sequence[TableRow]) -> list[TableRow]:
    return [one for one in metrics if one["model"] == row["model"] and one["counts"] and one["mean"] is not None]


def _metric(row: TableRow) -> str:
    interval = f"CI {ends(row['ci_low'], row['ci_high'])}"
    return f"; {row['metric']} is {percent(row['mean'])} ({interval}), {plural(row['scored'], 'output')}"


def _accuracy(row: TableRow) -> str:
    if row["accuracy"] is None:
        return ""
    share = ("at least " if row["accuracy_at_least"] else "") + percent(row["accuracy"])
    of = plural(row["accuracy_scored"], "output")
    return f"; accuracy is {share} (CI {ends(row['accuracy_ci_low'], row['accuracy_ci_high'])}), {of}"


def _above(decide: Decide, value: float, bound: float) -> str:
    figure, limit = distinguishable(value, bound)
    if decide == "point":
        return f"non-compliance is {figure}, above {limit}"
    if decide == "low":
        return f"non-compliance is clearly above {limit}: {figure} at least"
    return f"non-compliance is not clearly at most {limit}: it may be {figure}"


def _below(decide: Decide, value: float, bound: float, what: str = "accuracy") -> str:
    figure, limit = distinguishable(value, bound)
    if decide == "point":
        return f"{what} is {figure}, below {limit}"
    if decide == "low":
        return f"{what} is clearly below {limit}: {figure} at most"
    return f"{what} is not clearly at least {limit}: it may be {figure}"


def distinguishable(value: float, bound: float) -> tuple[str, str]:
    """A share and a limit beside it as percentages: the limit as it was given, the share with as many digits as it
    takes to see on which side of it it lies."""
    shown, limit, digits = percent(value), as_given(bound), 1
    while not _apart(shown, limit, above=value > bound) and digits < FINEST:
        shown = f"{100 * value:.{digits}f}%"
        digits += 1
    return shown, limit


def _apart(shown: str, limit: str, *, above: bool) -> bool:
    value, bound = float(shown.rstrip("%")), float(limit.rstrip("%"))
    return value > bound if above else value < bound
