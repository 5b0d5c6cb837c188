"""A gate for CI: limits that no model of a run may exceed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from promptpex.codecs.text.wording import did_you_mean, with_hint
from promptpex.core.errors import InputError
from promptpex.core.records import Manifest
from promptpex.core.translation import digits, from_data, tr, tr_n
from promptpex.report.headline import rounded_cases
from promptpex.report.percentages import FINEST, TableRow, at_least, ends, rounded_share
from promptpex.stats import cases_to_tell

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
        decide: what fails a model where it is above the limit: the ``point``, the ``low`` end of the interval or the
            ``high`` one; of accuracy and metrics the other end, below it. A model passes where the whole interval keeps
            the limit; where it does neither, the gate cannot tell.
    """

    max_non_compliance: float | None = None
    of_model: Mapping[str, float] = field(default_factory=dict)
    min_accuracy: float | None = None
    accuracy_of_model: Mapping[str, float] = field(default_factory=dict)
    min_metrics: Mapping[str, float] = field(default_factory=dict)
    min_scored: int = 0
    decide: Decide = "point"

    def of_others(self, models: Collection[str]) -> list[str]:
        """The labels that limits of single models are for, and that are not among these."""
        return list(dict.fromkeys(name for name in (*self.of_model, *self.accuracy_of_model) if name not in models))

    def only_of(self, models: Collection[str]) -> Limits:
        """The same without the limits of single models that are not among these labels."""
        of_model = {name: share for name, share in self.of_model.items() if name in models}
        accuracies = {name: share for name, share in self.accuracy_of_model.items() if name in models}
        return replace(self, of_model=of_model, accuracy_of_model=accuracies)

    def only_by(self, metrics: Collection[str]) -> Limits:
        """The same without the limits on metrics that are not among these."""
        return replace(self, min_metrics={name: least for name, least in self.min_metrics.items() if name in metrics})


SEEN = {"point": "non_compliance", "low": "ci_low", "high": "worst_high"}
ACCURACY_SEEN = {"point": "accuracy", "low": "accuracy_ci_high", "high": "accuracy_worst_low"}
METRIC_SEEN = {"point": "mean", "low": "ci_high", "high": "ci_low"}
"""What fails a model where it is beyond the limit. A model passes where the whole interval keeps the limit, also if all
that could not be scored had failed (``worst_high``, ``accuracy_worst_low``; of a metric ``ci_low``, which holds
whatever the missing scores are)."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What limits say of a model, in words.

    Attributes:
        exceeded: what it exceeds: it fails.
        untold: what the data cannot tell: it neither fails nor passes. With neither it passes.
    """

    exceeded: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()

    def __add__(self, other: Decided) -> Decided:
        return Decided((*self.exceeded, *other.exceeded), (*self.untold, *other.untold))


def not_complete(manifest: Manifest) -> Decided:
    """That a run is not complete, where it is not: it does not pass."""
    if not manifest.partial:
        return Decided()
    words = tr(
        "the run is not complete ({reason}): the same `promptpex run` completes it, --allow-partial passes it",
        reason=from_data(manifest.partial),
    )
    return Decided((words,))


def chosen_by_outcome(run: str) -> Decided:
    """That nothing can be told of cases that were chosen because they failed in a run."""
    words = tr("the cases were chosen because they failed or were unscored in run {run}; run the whole suite", run=run)
    return Decided(untold=(words,))


def decided(
    rows: Sequence[TableRow], limits: Limits, metrics: Sequence[TableRow] = (), *, confidence: float = 0.95
) -> dict[str, Decided]:
    """What limits say of each model.

    Args:
        rows: a table of models (``tables.MODEL_COLUMNS``) as plain rows.
        limits: what is asked.
        metrics: a table of metrics (``tables.METRIC_COLUMNS``) as plain rows.
        confidence: of the intervals.

    Raises:
        InputError: a limit is for a model or a metric that the run does not have.
    """
    names = [row["model"] for row in rows]
    if unknown := limits.of_others(names):
        raise InputError(f"{unknown[0]} is not a model of the run; its models are {', '.join(names)}")
    by_metric = _counting(metrics)
    require_metrics(limits.min_metrics, counting_metrics(metrics))
    return {
        row["model"]: sum(
            (
                _of_metric(by_metric.get((row["model"], name)), name, limit, limits.decide)
                for name, limit in limits.min_metrics.items()
            ),
            _of_model(row, limits, confidence) + _of_accuracy(row, limits, confidence),
        )
        for row in rows
    }


def _counting(metrics: Sequence[TableRow]) -> dict[tuple[str, str], TableRow]:
    """The rows of the scores that count, by model and metric."""
    return {(row["model"], row["metric"]): row for row in metrics if row["counts"]}


def counting_metrics(metrics: Sequence[TableRow]) -> list[str]:
    """The names of the metrics that limits may be on."""
    return list(dict.fromkeys(name for _, name in _counting(metrics)))


def require_metrics(named: Iterable[str], known: Collection[str], *, several: bool = False) -> None:
    """Refuses a limit on a metric that is not there.

    Args:
        known: the metrics of the run, or of all runs where there are ``several``.

    Raises:
        InputError: with those that there are.
    """
    of, whose = ("any of the runs", "their metrics are") if several else ("the run", "its metrics are")
    for name in named:
        if name not in known:
            has = f"{whose} {', '.join(known)}" if known else "they have none" if several else "it has none"
            raise InputError(with_hint(f"{name!r} is not a metric of {of}; {has}", did_you_mean(name, tuple(known))))


def _of_model(row: TableRow, limits: Limits, confidence: float) -> Decided:
    few = _too_few(row, limits.min_scored)
    limit = limits.of_model.get(row["model"], limits.max_non_compliance)
    if limit is None:
        return few
    graded = row.get("graded")
    if not row["scored"] and not graded:
        return few + Decided((tr("nothing was scored"),))
    figure = row[SEEN[limits.decide]]
    if figure > limit:
        words = _above(limits.decide, figure, limit)
        return few + Decided((tr("corrected {claim}", claim=words) if graded else words,))
    if row["worst_high"] <= limit:
        return few
    if row["worst_case"] > limit >= row["non_compliance"]:
        return few + Decided(untold=(_unscored_above(row, limit),))
    share, end = ("non_compliance", "ci_low") if row["non_compliance"] > limit else ("worst_case", "worst_high")
    needed = cases_to_tell(graded or _asked(row), row[share], row[end], limit, confidence)
    return few + Decided(untold=(_cannot_tell(_non_compliance(row), _basis(row), limit, needed),))


def _too_few(row: TableRow, least: int) -> Decided:
    if row["scored"] >= least:
        return Decided()
    words = tr_n(
        "{count} scored output, fewer than {least}",
        "{count} scored outputs, fewer than {least}",
        row["scored"],
        least=least,
    )
    return Decided((words,))


def _unscored_above(row: TableRow, limit: float) -> str:
    return tr_n(
        "{count} of {outputs} is unscored; had it failed, {then}",
        "{count} of {outputs} are unscored; had they failed, {then}",
        row["unscored"] - row["not_asked"],
        outputs=_outputs(row["outputs"] - row["not_asked"]),
        then=_above("point", row["worst_case"], limit),
    )


def _outputs(count: int) -> str:
    return tr_n("{count} output", "{count} outputs", count)


def _cannot_tell(figures: str, basis: str, limit: float, needed: int | None) -> str:
    """That a share and its limit are too near to each other for so few cases, and how many would tell."""
    sentence = tr(
        "{figures}: {cases} cannot tell this from {limit}",
        figures=figures,
        cases=basis,
        limit=digits(f"{100 * limit:g}%"),
    )
    if needed is None:
        return tr("{sentence}, and hardly more would", sentence=sentence)
    return tr("{sentence}; about {count} would", sentence=sentence, count=rounded_cases(needed))


def _basis(row: TableRow) -> str:
    """What an interval rests on: grades where a share is corrected by them, else cases."""
    if row.get("graded"):
        return tr_n("{count} grade", "{count} grades", row["graded"])
    return _cases(row)


def _cases(row: TableRow) -> str:
    return tr_n("{count} case", "{count} cases", _asked(row))


def _asked(row: TableRow) -> int:
    """How many cases a model was asked: all, but for what a budget, a deadline or a stop left out."""
    cases: int = row["cases"]
    left_out = row.get("not_asked") or 0
    return max(1, round(cases * (1 - left_out / row["outputs"]))) if left_out else cases


def _of_accuracy(row: TableRow, limits: Limits, confidence: float) -> Decided:
    limit = limits.accuracy_of_model.get(row["model"], limits.min_accuracy)
    if limit is None:
        return Decided()
    if not row["accuracy_scored"]:
        return Decided((tr("no output was compared with an expected one"),))
    figure = row[ACCURACY_SEEN[limits.decide]]
    if figure < limit:
        return Decided((_below(limits.decide, figure, limit, tr("accuracy")),))
    if row["accuracy_worst_low"] >= limit:
        return Decided()
    if row["accuracy_worst"] < limit <= row["accuracy"]:
        return Decided(untold=(_uncompared_below(row, limit),))
    below = row["accuracy"] < limit
    share, end = ("accuracy", "accuracy_ci_high") if below else ("accuracy_worst", "accuracy_worst_low")
    needed = cases_to_tell(_asked(row), row[share], row[end], limit, confidence)
    return Decided(untold=(_cannot_tell(next(_accuracy(row)), _cases(row), limit, needed),))


def _uncompared_below(row: TableRow, limit: float) -> str:
    missing = row["accuracy_unscored"]
    return tr_n(
        "{count} of {outputs} with an expected one is unscored; had it been wrong, {then}",
        "{count} of {outputs} with an expected one are unscored; had they been wrong, {then}",
        missing,
        outputs=_outputs(row["accuracy_scored"] + missing),
        then=_below("point", row["accuracy_worst"], limit, tr("accuracy")),
    )


def _of_metric(row: TableRow | None, name: str, limit: float, decide: Decide) -> Decided:
    if row is None or not row["scored"] or row["mean"] is None:
        return Decided((tr("no output has a score by {metric}", metric=name),))
    figure = row[METRIC_SEEN[decide]]
    if figure < limit:
        return Decided((_below(decide, figure, limit, name),))
    if row["ci_low"] >= limit:
        return Decided()
    if row["worst_case"] < limit <= row["mean"]:
        return Decided(untold=(_unscored_below(row, name, limit),))
    end = row["ci_low"] if row["mean"] >= limit else row["ci_high"]
    apart = row["mean"] - limit
    needed = math.ceil(row["cases"] * ((row["mean"] - end) / apart) ** 2) if apart else None
    return Decided(untold=(_cannot_tell(_metric(row), _cases(row), limit, needed),))


def _unscored_below(row: TableRow, name: str, limit: float) -> str:
    missing = row["unscored"]
    return tr_n(
        "{count} of {outputs} has no score by {metric}; were it worth 0, {then}",
        "{count} of {outputs} have no score by {metric}; were they worth 0, {then}",
        missing,
        outputs=_outputs(row["scored"] + missing),
        metric=name,
        then=_below("point", row["worst_case"], limit, name),
    )


def stated(row: TableRow, metrics: Sequence[TableRow] = ()) -> str:
    """Why a model passed: its figures with their intervals, and on how many outputs they rest."""
    scored = tr_n("{count} scored output", "{count} scored outputs", row["scored"])
    others = [*_accuracy(row), *map(_metric, _of_its_own(row, metrics))]
    if row["non_compliance"] is None:
        return "; ".join((scored, *others))
    size = _basis(row) if row.get("graded") else scored
    return "; ".join((f"{_non_compliance(row)}, {size}", *others))


def _non_compliance(row: TableRow) -> str:
    what = tr("corrected non-compliance") if row.get("graded") else tr("non-compliance")
    return _figure_is(what, row["non_compliance"], row["at_least"], row["ci_low"], row["ci_high"])


def _figure_is(what: str, share: float, bound: object, low: float, high: float) -> str:
    return tr("{quantity} is {share} (CI {ends})", quantity=what, share=at_least(share, bound), ends=ends(low, high))


def _of_its_own(row: TableRow, metrics: Sequence[TableRow]) -> list[TableRow]:
    return [one for one in metrics if one["model"] == row["model"] and one["counts"] and one["mean"] is not None]


def _metric(row: TableRow) -> str:
    figure = _figure_is(row["metric"], row["mean"], False, row["ci_low"], row["ci_high"])
    return f"{figure}, {tr_n('{count} output', '{count} outputs', row['scored'])}"


def _accuracy(row: TableRow) -> Iterator[str]:
    if row["accuracy"] is None:
        return
    ends_of = row["accuracy_ci_low"], row["accuracy_ci_high"]
    figure = _figure_is(tr("accuracy"), row["accuracy"], row["accuracy_at_least"], *ends_of)
    yield f"{figure}, {tr_n('{count} output', '{count} outputs', row['accuracy_scored'])}"


def _above(decide: Decide, value: float, bound: float) -> str:
    figure, limit = distinguishable(value, bound)
    if decide == "point":
        return tr("non-compliance is {figure}, above {limit}", figure=figure, limit=limit)
    if decide == "low":
        return tr("non-compliance is clearly above {limit}: {figure} at least", figure=figure, limit=limit)
    return tr("non-compliance is not clearly at most {limit}: it may be {figure}", figure=figure, limit=limit)


def _below(decide: Decide, value: float, bound: float, what: str) -> str:
    figure, limit = distinguishable(value, bound)
    if decide == "point":
        return tr("{quantity} is {figure}, below {limit}", quantity=what, figure=figure, limit=limit)
    if decide == "low":
        return tr("{quantity} is clearly below {limit}: {figure} at most", quantity=what, figure=figure, limit=limit)
    return tr(
        "{quantity} is not clearly at least {limit}: it may be {figure}", quantity=what, figure=figure, limit=limit
    )


def distinguishable(value: float, bound: float) -> tuple[str, str]:
    """A share and a limit beside it as percentages: the limit as it was given, the share with as many digits as it
    takes to see on which side of it it lies."""
    rounded, limit, places = rounded_share(value), f"{100 * bound:g}", 1
    while not _apart(rounded, limit, above=value > bound) and places < FINEST:
        rounded = f"{100 * value:.{places}f}"
        places += 1
    return digits(f"{rounded}%"), digits(f"{limit}%")


def _apart(shown: str, limit: str, *, above: bool) -> bool:
    return float(shown) > float(limit) if above else float(shown) < float(limit)
