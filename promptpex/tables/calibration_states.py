"""Whether the judges of a run were held against people, rule by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from promptpex.core.records import JudgeCalibration, Rule, calibration_of
from promptpex.tables.frames import is_from, typed
from promptpex.tables.peoples_grades import PeoplesGrades

if TYPE_CHECKING:
    import pandas as pd

CALIBRATION_COLUMNS: Mapping[str, str] = {
    "rule": "string",
    "judge": "string",
    "state": "string",
    "n": "Int64",
    "sensitivity": "Float64",
    "sensitivity_low": "Float64",
    "sensitivity_high": "Float64",
    "specificity": "Float64",
    "specificity_low": "Float64",
    "specificity_high": "Float64",
    "kappa": "Float64",
    "kappa_low": "Float64",
    "kappa_high": "Float64",
    "date": "string",
}
"""Columns of ``calibration_states``. ``state`` is ``current``, ``reworded`` (the rule's words have changed since),
``another judge`` (its settings, its rules or what it is shown) or ``never``; the figures are those of the calibration,
as ``JudgeCalibration`` has them."""


def calibration_states(cube: pd.DataFrame, rules: Iterable[Rule], people: PeoplesGrades) -> pd.DataFrame:
    """A row per rule of the spec and judge that gave verdicts on it, in the order of the rules.

    Args:
        cube: a table of verdicts.
        rules: of the run's spec.
        people: their calibrations.
    """
    first = cube[is_from(cube, "judge") & cube["turn"].eq(0)]
    rules_asked = first[["rule", "source", "fingerprint"]].drop_duplicates()
    of_rule: dict[str, list[tuple[str, str]]] = {}
    for rule, source, fingerprint in zip(*(rules_asked[name].tolist() for name in rules_asked.columns), strict=True):
        of_rule.setdefault(rule, []).append((source.removeprefix("judge:"), fingerprint))
    table = [
        {"rule": rule.id, "judge": judge, **_cells(rule, judge, mark, people.calibrations.get(rule.id, ()))}
        for rule in rules
        for judge, mark in of_rule.get(rule.id, ())
    ]
    return typed(table, CALIBRATION_COLUMNS)


def unchecked_judges(
    cube: pd.DataFrame, rules: Iterable[Rule], calibrations: Mapping[str, Iterable[JudgeCalibration]]
) -> int:
    """How many judges take part in deciding a rule on which no valid calibration holds them against people; those that
    answer the questions of checks too.

    Args:
        cube: a table of verdicts.
        rules: of the run's spec.
        calibrations: by rule.
    """
    by_judge, digests = is_from(cube, "judge"), {rule.id: rule.digest for rule in rules}
    scored = cube["status"].ne("unscored")
    decided = cube.loc[scored & cube["counts"] & (by_judge | is_from(cube, "judges")), "rule"].unique()
    taking_part = cube.loc[scored & by_judge & cube["turn"].eq(0) & cube["rule"].isin(decided)]
    pairs = taking_part[["rule", "source", "fingerprint"]].drop_duplicates()
    columns = (pairs[name].tolist() for name in ("rule", "source", "fingerprint"))
    unchecked = {
        judge
        for rule, judge, mark in zip(*columns, strict=True)
        if calibration_of(calibrations.get(rule, ()), judge.removeprefix("judge:"), mark, digests.get(rule, ""))[0]
        != "current"
    }
    answering = cube.loc[scored & cube["counts"] & is_from(cube, "check"), "source"].unique().tolist()
    return len(unchecked.union(f"judge:{judge}" for source in answering for judge in source.split("@", 1)[1:]))


def _cells(rule: Rule, judge: str, fingerprint: str, known: Iterable[JudgeCalibration]) -> dict[str, Any]:
    state, one = calibration_of(known, judge, fingerprint, rule.digest)
    cells: dict[str, Any] = {"state": state}
    if one is None:
        return cells
    for name in ("sensitivity", "specificity", "kappa"):
        share = getattr(one, name)
        cells |= {name: share.estimate, f"{name}_low": share.low, f"{name}_high": share.high}
    return {**cells, "n": one.outputs, "date": one.date}
