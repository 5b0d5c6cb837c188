"""Whether the judges of a run were held against people, rule by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from promptpex.core.records import JudgeCalibration, Rule, calibration_of
from promptpex.tables.peoples_grades import PeoplesGrades
from promptpex.tables.run_rows import Source, database_of
from promptpex.tables.table import Table

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


def calibration_states(source: Source, rules: Iterable[Rule], people: PeoplesGrades) -> Table:
    """A row per rule of the spec and judge that gave verdicts on it, in the order of the rules.

    Args:
        source: a run, or a table of verdicts.
        rules: of the run's spec.
        people: their calibrations.
    """
    of_rule: dict[str, list[tuple[str, str]]] = {}
    for rule, judge, fingerprint in database_of(source).query(_ASKED.format(where="1")):
        of_rule.setdefault(rule, []).append((judge.removeprefix("judge:"), fingerprint))
    table = [
        {"rule": rule.id, "judge": judge, **_cells(rule, judge, mark, people.calibrations.get(rule.id, ()))}
        for rule in rules
        for judge, mark in of_rule.get(rule.id, ())
    ]
    return Table.of(table, CALIBRATION_COLUMNS)


_ASKED = (
    "SELECT rule, source, fingerprint FROM verdict WHERE source GLOB 'judge:*' AND turn = 0 AND {where} "
    "GROUP BY 1, 2, 3 ORDER BY min(place)"
)
_DECIDED = (
    "status <> 'unscored' AND rule IN (SELECT rule FROM verdict WHERE status <> 'unscored' AND counts "
    "AND (source GLOB 'judge:*' OR source GLOB 'judges:*'))"
)


def unchecked_judges(
    source: Source, rules: Iterable[Rule], calibrations: Mapping[str, Iterable[JudgeCalibration]]
) -> int:
    """How many judges take part in deciding a rule on which no valid calibration holds them against people; those that
    answer the questions of checks too.

    Args:
        source: a run, or a table of verdicts.
        rules: of the run's spec.
        calibrations: by rule.
    """
    run, digests = database_of(source), {rule.id: rule.digest for rule in rules}
    unchecked = {
        judge
        for rule, judge, mark in run.query(_ASKED.format(where=_DECIDED))
        if calibration_of(calibrations.get(rule, ()), judge.removeprefix("judge:"), mark, digests.get(rule, ""))[0]
        != "current"
    }
    answering = run.listed(
        "SELECT DISTINCT source FROM verdict WHERE status <> 'unscored' AND counts AND source GLOB 'check:*@*'"
    )
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
