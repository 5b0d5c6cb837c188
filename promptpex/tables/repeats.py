"""What repeats and identical outputs say of the verdicts: how often they flip."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from promptpex.stats import flaky as find_flickers
from promptpex.stats import flip_rate, pass_at_k, pass_hat_k, variance_split
from promptpex.tables.counts_per_case import counted
from promptpex.tables.database_sql import JOINED
from promptpex.tables.run_rows import Rows, Source, database_of, rows_of
from promptpex.tables.table import Table

STABILITY_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "repeats": "Int64",
    "cases": "Int64",
    "flaky": "Int64",
    "flip_rate": "Float64",
    "flip_low": "Float64",
    "flip_high": "Float64",
    "pass_at_k": "Float64",
    "pass_at_low": "Float64",
    "pass_at_high": "Float64",
    "pass_hat_k": "Float64",
    "pass_hat_low": "Float64",
    "pass_hat_high": "Float64",
    "between": "Float64",
    "within": "Float64",
    "repeat_worth": "Float64",
}
"""Columns of ``repeats``: of the ``cases`` with two scored repeats or more, ``flaky`` both pass and fail;
``flip_rate`` is the chance that two repeats of a case disagree, ``pass_at_k`` that at least one of ``repeats`` passes,
``pass_hat_k`` that all do. ``between`` and ``within`` are the variance of an outcome between cases and within one, and
``repeat_worth`` how many more cases, asked once, a second repeat of these is worth. No place and no gate rests on
these. Where usable answers have no verdict there is no rate: only failures may be left."""

FLAKY_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "case": "string",
    "passed": "Int64",
    "failed": "Int64",
    "flip": "Float64",
}
"""Columns of ``flaky``: a case that a model both keeps and breaks, the least decided first."""

INCONSISTENT_COLUMNS: Mapping[str, str] = {
    "source": "string",
    "rule": "string",
    "output": "string",
    "passed": "Int64",
    "failed": "Int64",
    "cases": "string",
}
"""Columns of ``inconsistent_verdicts``: identical outputs that one judge passed and failed by one rule; ``cases`` are
ids joined by blanks."""

PassCounts = Mapping[str, Mapping[str, tuple[int, int]]]


def pass_counts(rows: Rows, having: str = "1") -> PassCounts:
    """Per model and case of a table of outputs, how many repeats passed and failed; the unscored are in neither.

    Args:
        having: of which models and cases, by ``passed`` and ``failed``.
    """
    sql = f"""
        SELECT m.name, c.id, q.passed, q.failed FROM (
            SELECT key, min(place) AS place, count(CASE WHEN verdict = 'pass' THEN 1 END) AS passed,
                count(CASE WHEN verdict = 'fail' THEN 1 END) AS failed
            FROM {rows.table} GROUP BY key >> 24 HAVING {having}
        ) q {JOINED.format("q")} ORDER BY q.place
    """
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    for model, case, passed, failed in rows.run.query(sql):
        counts.setdefault(model, {})[case] = (passed, failed)
    return counts


def repeats(source: Source, *, confidence: float = 0.95) -> Table:
    """A row per model whose cases were asked more than once, from a table of outputs; columns ``STABILITY_COLUMNS``."""
    rows = rows_of(source)
    most = rows.query("m.name, max(n.repeat) + 1", "GROUP BY m.number HAVING max(n.repeat) > 0 ORDER BY min(t.place)")
    repeated = most.fetchall()
    if not repeated:
        return Table.of((), STABILITY_COLUMNS)
    counts, incomplete_models = pass_counts(rows), set(counted(rows).incomplete)
    return Table.of(
        (
            {name: value for name, value in row.items() if name in _COUNTED or row["model"] not in incomplete_models}
            for row in (_flip_row(model, times, counts[model], confidence) for model, times in repeated)
        ),
        STABILITY_COLUMNS,
    )


def flaky(source: Source) -> Table:
    """A row per model and case whose scored repeats disagree; columns ``FLAKY_COLUMNS``."""
    rows = rows_of(source)
    both = pass_counts(rows, "passed AND failed")
    cells = [
        {"model": model, "case": one.unit, "passed": one.passed, "failed": one.failed, "flip": one.flip}
        for model in rows.models
        for one in find_flickers(both.get(model, {}))
    ]
    return Table.of(sorted(cells, key=lambda row: -float(str(row["flip"]))), FLAKY_COLUMNS)


def inconsistent_verdicts(*made: Source, hang_on_input: Collection[str] = ()) -> Table:
    """Identical outputs with different verdicts of the same judge by the same rule; columns ``INCONSISTENT_COLUMNS``.

    Checks are left out: what they ask may rightly hang on the inputs. So may the verdict of a judge that
    is shown the input; of rules that ``hang_on_input`` outputs are compared within a case.

    Args:
        made: a run, or the tables of its outputs and of its verdicts.
    """
    run, groups = database_of(*made), dict[tuple[Any, ...], dict[str, Any]]()
    with run.chosen(hang_on_input) as hanging:
        for source, rule, text, within, status, case in run.query(
            _INCONSISTENT.format(judged=_JUDGED, hanging=hanging)
        ):
            group = groups.setdefault((source, rule, text, within), {"pass": 0, "fail": 0, "in": {}})
            group[status] += 1
            group["in"][case] = None
    rows = (
        {"source": key[0], "rule": key[1], "output": key[2], "cases": " ".join(group["in"])}
        | {"passed": group["pass"], "failed": group["fail"]}
        for key, group in groups.items()
    )
    return Table.of(sorted(rows, key=lambda row: -min(row["passed"], row["failed"])), INCONSISTENT_COLUMNS)


_JUDGED = "v.source GLOB 'judge:*' AND v.status IN ('pass', 'fail') AND v.turn = 0"
_BOTH = "HAVING max(v.status = 'pass') AND max(v.status = 'fail')"
_INCONSISTENT = f"""
    WITH odd AS (SELECT v.source, v.rule FROM verdict v WHERE {{judged}} GROUP BY 1, 2 {_BOTH}),
    every AS (
        SELECT v.place, v.source, v.rule, v.status, v.key, o.text,
            CASE WHEN v.rule IN {{hanging}} THEN v.key >> 38 END AS within
        FROM odd JOIN verdict v USING (source, rule) JOIN output o ON o.key = v.key
        WHERE {{judged}} AND o.text IS NOT NULL
    ),
    again AS (SELECT v.source, v.rule, v.text, v.within FROM every v GROUP BY 1, 2, 3, 4 {_BOTH})
    SELECT e.source, e.rule, e.text, e.within, e.status, c.id
    FROM again a JOIN every e ON e.source = a.source AND e.rule = a.rule AND e.text = a.text AND e.within IS a.within
    JOIN cases c ON c.number = e.key >> 38 ORDER BY e.place
"""


_COUNTED = ("model", "repeats", "cases", "flaky")
"""What is said of repeats where verdicts are missing: what was seen, and no rate."""


def _flip_row(model: str, times: int, cases: Mapping[str, tuple[int, int]], confidence: float) -> dict[str, Any]:
    flips = flip_rate(cases, confidence)
    row: dict[str, Any] = {"model": model, "repeats": times, "cases": flips.units, "flaky": flips.flaky}
    if flips.units:
        rate = flips.flip_rate
        row |= {"flip_rate": rate.estimate, "flip_low": rate.low, "flip_high": rate.high}
    for name, chance in (
        ("pass_at", pass_at_k(cases, times, confidence)),
        ("pass_hat", pass_hat_k(cases, times, confidence)),
    ):
        if chance.n:
            row |= {f"{name}_k": chance.estimate, f"{name}_low": chance.low, f"{name}_high": chance.high}
    split = variance_split(cases)
    if split is not None:
        row |= {"between": split.between, "within": split.within, "repeat_worth": split.repeat_worth}
    return row
