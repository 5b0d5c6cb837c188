"""A gate for CI: limits that no model of a run may exceed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from promptpex.codecs.wording import plural
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
        min_scored: the fewest scored outputs.
        decide: what is held against the limit: the ``point``, the ``low`` end of the interval (fails only what is shown
            to be above) or the ``high`` end (passes only what is shown not to be above). Of accuracy it is the other
            end each: ``low`` fails only what is shown to be below, ``high`` passes only what is shown not to be.
    """

    max_non_compliance: float | None = None
    of_model: Mapping[str, float] = field(default_factory=dict)
    min_accuracy: float | None = None
    accuracy_of_model: Mapping[str, float] = field(default_factory=dict)
    min_scored: int = 0
    decide: Decide = "point"


SEEN = {"point": "non_compliance", "low": "ci_low", "high": "ci_high"}
AT_WORST = {"point": "worst_case", "low": "worst_low", "high": "worst_high"}
"""The same figures if all that was asked for and could not be scored had failed: a gate passes on these alone."""
ACCURACY_SEEN = {"point": "accuracy", "low": "accuracy_ci_high", "high": "accuracy_ci_low"}
ACCURACY_AT_WORST = {"point": "accuracy_worst", "low": "accuracy_worst_high", "high": "accuracy_worst_low"}
"""Of accuracy; at worst all that could not be compared was wrong."""


def breaches(rows: Sequence[TableRow], limits: Limits) -> dict[str, list[str]]:
    """Per model which limits it exceeds, in words; an empty list for a model that passes.

    A model passes only if it passes however its unscored outputs would have come out.

    Args:
        rows: a table of models (``tables.MODEL_COLUMNS``) as plain rows.
        limits: what is asked.

    Raises:
        InputError: a limit is for a model that the run does not have.
    """
    names = [row["model"] for row in rows]
    unknown = [model for model in (*limits.of_model, *limits.accuracy_of_model) if model not in names]
    if unknown:
        raise InputError(f"{unknown[0]} is not a model of the run; its models are {', '.join(names)}")
    return {row["model"]: [*_of_model(row, limits), *_of_accuracy(row, limits)] for row in rows}


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


def stated(row: TableRow) -> str:
    """Why a model passed: the share with its interval, and on how many outputs it rests."""
    scored = plural(row["scored"], "scored output")
    if row["non_compliance"] is None:
        return f"{scored}{_accuracy(row)}"
    share = ("at least " if row["at_least"] else "") + percent(row["non_compliance"])
    return f"non-compliance is {share} (CI {ends(row['ci_low'], row['ci_high'])}), {scored}{_accuracy(row)}"


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


def _below(decide: Decide, value: float, bound: float) -> str:
    figure, limit = distinguishable(value, bound)
    if decide == "point":
        return f"accuracy is {figure}, below {limit}"
    if decide == "low":
        return f"accuracy is clearly below {limit}: {figure} at most"
    return f"accuracy is not clearly at least {limit}: it may be {figure}"


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
