"""Discrimination: what a suite tells apart, once there are verdicts.

A case that all models pass says nothing of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpex.core.records import NOT_CONCERNED
from promptpex.tables.frames import rule_outcomes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Discrimination:
    """What the verdicts say about the cases and rules themselves.

    Attributes:
        models: how many models have scored outputs; with one, the next two lists say little.
        passed_by_all: cases whose every scored output complies, on every model.
        failed_by_all: cases whose every scored output breaks a rule, on every model.
        unscored: cases with no scored output at all.
        never_broken: rules that were scored and that no output has broken.
        never_scored: rules that have no pass and no fail, though they concern an output.
        never_concerned: rules whose condition no output meets.
        untriggered: cases for a rule with a condition that none of their outputs was found to meet.
    """

    models: int
    passed_by_all: tuple[str, ...]
    failed_by_all: tuple[str, ...]
    unscored: tuple[str, ...]
    never_broken: tuple[str, ...]
    never_scored: tuple[str, ...]
    never_concerned: tuple[str, ...]
    untriggered: tuple[str, ...] = ()


def discrimination(
    rows: pd.DataFrame, cube: pd.DataFrame, rules: Sequence[str], *, outcomes: pd.DataFrame | None = None
) -> Discrimination:
    """The cases and rules that do not discriminate, in the order in which they first occur.

    Args:
        rows: a table of outputs.
        cube: a table of verdicts; those that do not count are left out.
        rules: the ids of the spec's rules.
        outcomes: the cube's ``rule_outcomes``, where they are at hand already.
    """
    marks = rows[["case"]].assign(
        good=rows["verdict"].eq("pass").to_numpy("int64"), bad=rows["verdict"].eq("fail").to_numpy("int64")
    )
    sums = marks.groupby("case", sort=False, observed=True).sum()
    good, bad = sums["good"].gt(0), sums["bad"].gt(0)
    outcomes = rule_outcomes(cube) if outcomes is None else outcomes
    rules_with = {status: set(part["rule"]) for status, part in outcomes.groupby("status", observed=True)}
    broken = rules_with.get("fail", set())
    seen = broken | rules_with.get("pass", set())
    never = rules_with.get(NOT_CONCERNED, set()) - seen - rules_with.get("unscored", set())
    return Discrimination(
        models=rows.loc[rows["verdict"].ne("unscored"), "model"].nunique(),
        passed_by_all=_names(good & ~bad),
        failed_by_all=_names(bad & ~good),
        unscored=_names(~good & ~bad),
        never_broken=tuple(rule for rule in rules if rule in seen and rule not in broken),
        never_scored=tuple(rule for rule in rules if rule not in seen | never),
        never_concerned=tuple(rule for rule in rules if rule in never),
        untriggered=_untriggered(outcomes),
    )


def telling(outcomes: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of ``rule_outcomes`` that ``discrimination`` needs: the first of each rule and status, and of
    each case and status those of the rule that the case is for."""
    kinds = ~outcomes.duplicated(["rule", "status"]).to_numpy(bool)
    of_cases = _for_their_rule(outcomes) & ~outcomes.duplicated(["rule", "case", "status"]).to_numpy(bool)
    some: pd.DataFrame = outcomes[kinds | of_cases]
    return some


def untriggered(cube: pd.DataFrame) -> tuple[str, ...]:
    """The cases whose outputs are all not concerned by the rule that the case is for, as far as that was told: they
    do not trigger its condition, and test something else.

    Args:
        cube: a table of verdicts; those that do not count are left out.
    """
    return _untriggered(rule_outcomes(cube))


def _untriggered(outcomes: pd.DataFrame) -> tuple[str, ...]:
    aimed = outcomes[_for_their_rule(outcomes)]
    known = aimed[~aimed["status"].eq("unscored").fillna(True).to_numpy(bool)]
    concerned = set(known.loc[known["status"].ne(NOT_CONCERNED).to_numpy(bool), "case"])
    return tuple(str(case) for case in known["case"].unique() if case not in concerned)


def _for_their_rule(outcomes: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Where the rule is the one that the case is for."""
    import numpy as np

    pairs = zip(outcomes["rule"].tolist(), outcomes["aim"].fillna("").tolist(), strict=True)
    return np.array([rule == aim for rule, aim in pairs], dtype=bool)


def _names(marked: pd.Series[bool]) -> tuple[str, ...]:
    return tuple(map(str, marked.index[marked]))
