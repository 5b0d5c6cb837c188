"""How the judges fared: what each was asked, and how often no usable verdict came."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from promptpex.core.records import UNCLEAR
from promptpex.tables.database_sql import ASKED_NOT, CUT_OFF
from promptpex.tables.run_rows import Source, database_of
from promptpex.tables.table import Table

JUDGE_COLUMNS: Mapping[str, str] = {
    "judge": "string",
    "asked": "Int64",
    "outputs": "Int64",
    "failed": "Int64",
    "not_asked": "Int64",
    "failed_share": "Float64",
    "reasons": "string",
    "example": "string",
}
"""Columns of ``judges``. ``asked`` are the times that it was asked, one for each output and turn, in one request or
two; ``outputs`` what they were about; ``failed`` those of them in which a rule got no usable verdict; ``not_asked``
those that a budget, a deadline or a stop kept from being made or answered."""


_REPLIES = f"""
    WITH replies AS (
        SELECT source, key, turn, min(place) AS first,
            min(CASE WHEN status = 'unscored' AND unscored IS NOT '{UNCLEAR}' THEN place END) AS failure
        FROM verdict WHERE source GLOB 'judge:*' GROUP BY source, key, turn
    ),
    told AS (
        SELECT q.source, q.key, q.first, q.failure, v.unscored, v.reason,
            coalesce(v.unscored IN {ASKED_NOT} OR v.unscored IN {CUT_OFF}, 0) AS is_cut
        FROM replies q LEFT JOIN verdict v ON v.place = q.failure
    )
"""
_TOTALS = """
    SELECT source, count(CASE WHEN NOT is_cut THEN 1 END), count(DISTINCT CASE WHEN NOT is_cut THEN key END),
        count(CASE WHEN is_cut THEN 1 END)
    FROM told GROUP BY source ORDER BY min(first)
"""
_FAILURES = """
    SELECT source, coalesce(unscored, 'unknown'), count(*) FROM told WHERE failure IS NOT NULL AND NOT is_cut
    GROUP BY 1, 2 ORDER BY min(failure)
"""
_EXAMPLES = """
    SELECT source, reason, min(failure) FROM told WHERE failure IS NOT NULL AND NOT is_cut GROUP BY source
"""


def judges(source: Source) -> Table:
    """A row per judge from a table of verdicts, in the order of their first verdicts; columns ``JUDGE_COLUMNS``.

    It failed where a rule has no verdict because of the reply; that a judge calls a rule unclear is a verdict.
    """
    run, reasons = database_of(source), defaultdict[str, Counter[str]](Counter)
    for judge, reason, count in run.query(_REPLIES + _FAILURES):
        reasons[judge][reason] += count
    examples = {judge: reason for judge, reason, _ in run.query(_REPLIES + _EXAMPLES)}
    rows = []
    for judge, asked, outputs, not_asked in run.query(_REPLIES + _TOTALS):
        failed = reasons[judge].total()
        row = {"judge": judge.removeprefix("judge:"), "asked": asked, "outputs": outputs, "not_asked": not_asked}
        row |= {"failed": failed, "failed_share": failed / asked if asked else None}
        if failed:
            in_words = ", ".join(f"{count} {reason}" for reason, count in reasons[judge].most_common())
            row |= {"reasons": in_words, "example": examples[judge] or None}
        rows.append(row)
    return Table.of(rows, JUDGE_COLUMNS)
