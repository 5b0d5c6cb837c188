"""From a table of outputs to counts per model and case: what every share and every test rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpex.core.errors import InputError
from promptpex.core.records import CUT, NOT_ASKED
from promptpex.stats import Grid
from promptpex.tables.frames import marked, numbered
from promptpex.tables.plain_values import plain_values

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Bools = npt.NDArray[np.bool_]
    Ints = npt.NDArray[np.int64]

KINDS = 4
BROKEN, KEPT, OPEN, LOST = range(KINDS)
"""What an output, or a rule on it, counts as: broken, kept, without a verdict on a usable output, or on none."""
NOT_COUNTED = -1
"""What counts as nothing: it was not asked for, or not judged as far as it could be."""

Weights = Mapping[str, int]
"""How many times a case counts: under ``rule`` and ``inverse`` for the cases that aim at a rule or at its inverse,
under a rule's id for those of that rule; the two are multiplied, and 1 where nothing is said. A case that aims at no
rule counts once."""


CUT_CODES = frozenset(CUT.values())
"""Reason codes of what was sent and had no answer when the run ended."""

COUNTED = frozenset(("model", "case", "verdict", "error", "unscored", "asked", "rule", "inverse"))
"""The columns that ``counted`` looks at, where they are there."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The outputs of a table, counted.

    Attributes:
        asked: all that was asked for; open are the outputs without a usable answer and those that nothing could judge.
        usable: the usable answers, and those that the end of the run cut off, which come late because they are long or
            hard: a share without them would mislead. Open are they, and what nothing could judge.
        not_asked: per model, outputs that a budget, a deadline or a stop left unasked or unjudged.
        answered: per model, answers that could be judged, whether a judge was asked or not.
    """

    asked: Grid
    usable: Grid
    not_asked: Mapping[str, int]
    answered: Mapping[str, int]

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Models of which a usable answer has no verdict: of those only failures may be left, so that the share of
        failures among the scored would not be an estimate."""
        return tuple(name for row, name in enumerate(self.usable.models) if self.usable.missing(row))


def counted(rows: pd.DataFrame, order: Sequence[str] = (), *, weights: Weights | None = None) -> Counted:
    """Counts the outputs of a table; cases without a weight are left out.

    Args:
        rows: a table of outputs; of its columns ``model``, ``case`` and ``verdict`` have to be there.
        order: the models, those without outputs too; others in the table come after them.
        weights: how many times each case counts.
    """
    import numpy as np

    model, names = numbered(rows["model"])
    models = list(dict.fromkeys([*order, *map(str, names)]))
    row = np.array([models.index(str(name)) for name in names], dtype=np.int64)[model]
    case, cases = numbered(rows["case"])
    kind = kinds_of_outputs(rows)
    shape = (len(models), len(cases))

    def count(wanted: int) -> Any:
        marked = kind == wanted
        table = np.bincount(row[marked] * shape[1] + case[marked], minlength=shape[0] * shape[1])
        return table.reshape(shape).astype(np.int64)

    _, first = np.unique(case, return_index=True)
    rule = _texts(rows, "rule", first)
    weight = np.array(weighed(rule, _texts(rows, "inverse", first), weights), dtype=np.int64)
    numbers, usable = (count(BROKEN), count(KEPT)), count(OPEN)
    left = np.bincount(row[kind == NOT_COUNTED], minlength=len(models)).tolist()
    counting = np.flatnonzero(weight)
    return Counted(
        asked=Grid(tuple(models), *numbers, usable + count(LOST), weight).only(counting),
        usable=Grid(tuple(models), *numbers, usable, weight).only(counting),
        not_asked=dict(zip(models, left, strict=True)),
        answered=dict(
            zip(models, np.bincount(row[missing(rows, "error")], minlength=len(models)).tolist(), strict=True)
        ),
    )


def kinds_of_outputs(rows: pd.DataFrame, column: str = "verdict") -> Ints:
    """What each row of a table of outputs counts as: ``BROKEN``, ``KEPT``, ``OPEN``, ``LOST`` or ``NOT_COUNTED``.

    Args:
        rows: outputs, or with the ``column`` ``status`` rules on them.
    """
    import numpy as np

    unknown = missing(rows, "error")
    if "error" in rows:
        unknown |= marked(rows["error"], CUT_CODES.__contains__)
    open_ = np.where(unknown, OPEN, LOST)
    kept = np.where(has_status(rows[column], "pass"), KEPT, open_)
    return np.where(asked(rows), np.where(has_status(rows[column], "fail"), BROKEN, kept), NOT_COUNTED)


def asked(rows: pd.DataFrame) -> Bools:
    """Where an output was asked for and judged as far as it could be: no budget, deadline or stop came before."""
    import numpy as np

    inside = np.ones(len(rows), dtype=bool)
    for column in ("error", "unscored"):
        if column in rows:
            inside &= ~marked(rows[column], NOT_ASKED.__contains__)
    if "asked" in rows:
        inside &= rows["asked"].fillna(True).to_numpy(bool)
    return inside


def weighed(rules: Sequence[str | None], inverse: Sequence[Any], weights: Weights | None) -> list[int]:
    """The weight of each case by the rule that it aims at and its side."""
    if not weights:
        return [1] * len(rules)
    return [_weight(rule, side is not None and bool(side), weights) for rule, side in zip(rules, inverse, strict=True)]


def _weight(rule: str | None, inverse: bool, weights: Weights) -> int:
    if rule is None:
        return 1
    kind = weights.get("inverse" if inverse else "rule", 1)
    return kind if rule in ("rule", "inverse") else kind * weights.get(rule, 1)


def check_weights(weights: Weights, rules: Sequence[str | None], inverse: Sequence[bool]) -> None:
    """Refuses weights that name no kind and no rule, or that leave no case.

    Args:
        weights: as the user gave them.
        rules, inverse: of each case, the rule that it aims at and whether at its inverse.

    Raises:
        InputError: with what can be named.
    """
    known_columns = dict.fromkeys(["rule", "inverse", *(rule for rule in rules if rule is not None)])
    strange = [name for name in weights if name not in known_columns]
    if strange:
        raise InputError(f"--weights names {strange[0]}, which no case aims at: name one of {', '.join(known_columns)}")
    if rules and not any(weighed(rules, inverse, weights)):
        raise InputError("--weights leaves no case: give at least one kind of case a weight above 0")


def has_status(verdict: pd.Series[Any], status: str) -> Bools:
    """Where a verdict is this one."""
    return marked(verdict, status.__eq__)


def missing(rows: pd.DataFrame, column: str) -> Bools:
    """Where a column has no value; everywhere in a table without the column."""
    import numpy as np

    return np.asarray(rows[column].array.isna()) if column in rows else np.ones(len(rows), dtype=bool)


def _texts(rows: pd.DataFrame, column: str, chosen: npt.NDArray[np.int64]) -> list[Any]:
    return plain_values(rows[column].iloc[chosen]) if column in rows else [None] * len(chosen)
