"""Discrimination: what a suite tells apart, once there are verdicts.

A case that all models pass says nothing of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

from promptpex.core.records import NOT_CONCERNED
from promptpex.tables.frames import marked, rule_outcomes
from promptpex.tables.plain_values import plain_values

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
    cases = [str(case) for case in rows["case"].tolist()]
    good, bad = (set(compress(cases, marked(rows["verdict"], status.__eq__))) for status in ("pass", "fail"))
    order = dict.fromkeys(cases)
    outcomes = rule_outcomes(cube) if outcomes is None else outcomes
    rules_with: dict[str | None, set[str]] = defaultdict(set)
    for rule, status in zip(*(plain_values(outcomes[name]) for name in ("rule", "status")), strict=True):
        rules_with[status].add(rule)
    broken = rules_with["fail"]
    triggered = broken | rules_with["pass"]
    never = rules_with[NOT_CONCERNED] - triggered - rules_with["unscored"]
    return Discrimination(
        models=len(set(compress(rows["model"].tolist(), marked(rows["verdict"], "unscored".__ne__)))),
        passed_by_all=tuple(case for case in order if case in good and case not in bad),
        failed_by_all=tuple(case for case in order if case in bad and case not in good),
        unscored=tuple(case for case in order if case not in good and case not in bad),
        never_broken=tuple(rule for rule in rules if rule in triggered and rule not in broken),
        never_scored=tuple(rule for rule in rules if rule not in triggered | never),
        never_concerned=tuple(rule for rule in rules if rule in never),
        untriggered=_untriggered(outcomes),
    )


def telling(outcomes: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of ``rule_outcomes`` that ``discrimination`` needs: the first of each rule and status, and of
    each case and status those of the rule that the case is for."""
    kinds = ~outcomes.duplicated(["rule", "status"]).to_numpy(bool)
    of_cases = _for_their_rule(outcomes) & ~outcomes.duplicated(["rule", "case", "status"]).to_numpy(bool)
    telling_rows: pd.DataFrame = outcomes[kinds | of_cases]
    return telling_rows


def untriggered(cube: pd.DataFrame) -> tuple[str, ...]:
    """The cases whose outputs are all not concerned by the rule that the case is for, as far as that was told: they
    do not trigger its condition, and test something else.

    Args:
        cube: a table of verdicts; those that do not count are left out.
    """
    return _untriggered(rule_outcomes(cube))


def _untriggered(outcomes: pd.DataFrame) -> tuple[str, ...]:
    columns = [plain_values(outcomes[name]) for name in ("rule", "aim", "case", "status")]
    known_rules = [
        (case, status)
        for rule, aim, case, status in zip(*columns, strict=True)
        if rule == aim and status not in (None, "unscored")
    ]
    concerned = {case for case, status in known_rules if status != NOT_CONCERNED}
    return tuple(dict.fromkeys(str(case) for case, _ in known_rules if case not in concerned))


def _for_their_rule(outcomes: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Where the rule is the one that the case is for."""
    import numpy as np

    pairs = zip(outcomes["rule"].tolist(), outcomes["aim"].fillna("").tolist(), strict=True)
    return np.array([rule == aim for rule, aim in pairs], dtype=bool)
