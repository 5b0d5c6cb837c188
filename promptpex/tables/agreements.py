"""How far code and judges agree: on the same rule of the same output, and one judge with itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_CONCERNED
from promptpex.stats import clustered_agreement
from promptpex.tables.database import RunDatabase
from promptpex.tables.database_sql import JOINED
from promptpex.tables.run_rows import Source, database_of
from promptpex.tables.table import Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

AGREEMENT_COLUMNS: Mapping[str, str] = {
    "kind": "string",
    "first": "string",
    "second": "string",
    "rule": "string",
    "n": "Int64",
    "both_not_concerned": "Int64",
    "one_not_concerned": "Int64",
    "both_pass": "Int64",
    "first_fails": "Int64",
    "second_fails": "Int64",
    "both_fail": "Int64",
    "agreed": "Float64",
    "agreed_low": "Float64",
    "agreed_high": "Float64",
    "agreed_interval": "string",
    "kappa": "Float64",
    "kappa_low": "Float64",
    "kappa_high": "Float64",
    "kappa_interval": "string",
    "fail_rate_first": "Float64",
    "fail_rate_second": "Float64",
    "adjusted": "Float64",
}
"""Columns of ``agreements``. ``kind`` is ``code-judge``, ``judges`` or ``again`` (a judge's first answer and its later
ones); ``rule`` is missing in the row of all rules together; ``n`` are outputs and rules that both passed or failed, of
which ``first_fails`` only the first fails, and all figures are of these; ``both_not_concerned`` and
``one_not_concerned`` count beside them what both, or only one of the two, found not concerned; ``agreed`` is the raw
share; ``kappa`` is Cohen's, missing where both say one thing throughout; ``adjusted`` is kappa without prevalence and
bias (PABAK). The verdicts of one case are correlated, and both intervals allow for it: ``agreed_interval`` and
``kappa_interval`` say how each was made."""

CELLS = 4
"""Cells of the fourfold table of fail and pass; its number is 2 if the first passes, and 1 if the second does."""

DISAGREEMENT_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "case": "string",
    "repeat": "Int64",
    "rule": "string",
    "code": "string",
    "judge": "string",
    "check": "string",
    "judged_by": "string",
    "code_reason": "string",
    "judge_reason": "string",
    "confidence": "Float64",
    "inputs": "string",
    "output": "string",
}
"""Columns of ``disagreements``: code against a judge, where one of them alone finds a rule broken: first what code
fails and the judge does not, the surer the judge the higher; then what the judge fails and code does not."""


_CODE = "{0}.source GLOB 'check:*' AND NOT ({0}.status = 'pass' AND {0}.rule IN {partly})"
"""The verdicts of code on rules, without passes of those that it decides in part."""
_JUDGE = "{0}.source = CAST(? AS TEXT) AND {0}.turn = 0"
_LATER = "{0}.source = CAST(? AS TEXT) AND {0}.turn > 0"
_ANY_JUDGE = "{0}.source GLOB 'judge:*' AND {0}.turn = 0"
_PAIRS = """
    verdict a JOIN verdict b ON b.key = a.key AND b.rule = a.rule
    WHERE a.status <> 'unscored' AND b.status <> 'unscored' AND ({first}) AND ({second})
"""


def agreements(source: Source, *, partly: Collection[str] = (), confidence: float = 0.95) -> Table:
    """Agreement overall and per rule, for code and each judge, each two judges, and each judge with itself.

    Args:
        source: a run, or a table of verdicts.
        partly: rules that code decides in part only: of those, a pass by code is not a verdict on the rule.
        confidence: of the intervals.
    """
    run = database_of(source)
    judges = run.listed(
        f"SELECT v.source FROM verdict v WHERE {_ANY_JUDGE.format('v')} AND v.status <> 'unscored' "
        "GROUP BY v.source ORDER BY min(v.place)"
    )
    if not judges:
        return Table.of((), AGREEMENT_COLUMNS)
    run.need("verdict_rules")
    with run.chosen(partly) as chosen:
        code = _CODE.format("a", partly=chosen)
        pairs: list[tuple[str, str, str, str, str, tuple[str, ...]]] = [
            ("code-judge", "code", name, code, _JUDGE, (name,)) for name in judges
        ]
        one, two = _JUDGE.format("a"), _LATER
        pairs += [("judges", *both, one, _JUDGE, both) for both in combinations(judges, 2)]
        pairs += [("again", name, name, one, two, (name, name)) for name in judges]
        rows = [
            {"kind": kind, "first": first, "second": second, **row}
            for kind, first, second, of_first, of_second, values in pairs
            for row in _pair(run, _PAIRS.format(first=of_first, second=of_second.format("b")), values, confidence)
        ]
    return Table.of(rows, AGREEMENT_COLUMNS)


def _pair(run: RunDatabase, pairs: str, values: Collection[str], confidence: float) -> Iterator[dict[str, Any]]:
    """The rows of a pair: of all rules together, and of each; none where the two share no rule of an output."""
    import numpy as np

    left_out_by = f"(a.status = '{NOT_CONCERNED}') + (b.status = '{NOT_CONCERNED}')"
    concerned = f"a.status <> '{NOT_CONCERNED}' AND b.status <> '{NOT_CONCERNED}'"
    cells = ", ".join(
        f"total({concerned} AND 2 * (a.status = 'pass') + (b.status = 'pass') = {cell})" for cell in range(CELLS)
    )
    left_out = f"total({left_out_by} = 2), total({left_out_by} = 1)"
    sql = f"SELECT a.rule, a.key >> 38, min(a.place), {left_out}, {cells} FROM {pairs} GROUP BY 1, 2 ORDER BY 3"
    counts = run.query(sql, list(values)).fetchall()
    if not counts:
        return
    cases = {case: number for number, case in enumerate(sorted({row[1] for row in counts}))}
    rules = {rule: number for number, rule in enumerate(dict.fromkeys(row[0] for row in counts))}
    table = np.zeros((len(rules), len(cases), CELLS), dtype=np.int64)
    both, one = Counter[str](), Counter[str]()
    for rule, case, _, by_both, by_one, *row in counts:
        both[rule], one[rule] = both[rule] + int(by_both), one[rule] + int(by_one)
        table[rules[rule], cases[case]] = row
    yield _figures(table.sum(axis=0), both.total(), one.total(), confidence)
    for rule, number in rules.items():
        yield {"rule": rule, **_figures(table[number], both[rule], one[rule], confidence)}


def _figures(cells: Ints, neither: int, one: int, confidence: float) -> dict[str, Any]:
    """The figures of items by their cases and cells, of those that neither found not concerned."""
    row: dict[str, Any] = {"n": int(cells.sum()), "both_not_concerned": neither, "one_not_concerned": one}
    return row | (_fourfold(cells, confidence) if row["n"] else {})


def _fourfold(cells: Ints, confidence: float) -> dict[str, Any]:
    agreement = clustered_agreement(cells.reshape(-1, 2, 2), confidence)
    (both_fail, first_fails), (second_fails, both_pass) = agreement.table
    row: dict[str, Any] = {
        "both_pass": both_pass,
        "first_fails": first_fails,
        "second_fails": second_fails,
        "both_fail": both_fail,
        "agreed": agreement.raw.estimate,
        "agreed_low": agreement.raw.low,
        "agreed_high": agreement.raw.high,
        "agreed_interval": agreement.raw.method,
        "fail_rate_first": agreement.base_first[0],
        "fail_rate_second": agreement.base_second[0],
        "adjusted": agreement.adjusted,
    }
    kappa = agreement.kappa
    if kappa.estimate is None:
        return row
    ends = {"kappa_low": kappa.low, "kappa_high": kappa.high, "kappa_interval": kappa.method}
    return {**row, "kappa": kappa.estimate, **ends}


_DISAGREEMENTS = f"""
    WITH odd AS (
        SELECT a.key, a.rule, a.status AS code, b.status AS judge, a.source AS checked, b.source AS judged_by,
            a.reason AS code_reason, b.reason AS judge_reason, b.confidence, a.place AS first, b.place AS second
        FROM {_PAIRS.format(first=_CODE.format("a", partly="{partly}"), second=_ANY_JUDGE.format("b"))}
            AND (a.status = 'fail') <> (b.status = 'fail')
    )
    SELECT m.name, c.id, n.repeat, q.rule, q.code, q.judge, q.checked, q.judged_by, q.code_reason, q.judge_reason,
        q.confidence, CASE WHEN o.place IS NOT NULL THEN c.inputs END, o.text
    FROM odd q {JOINED.format("q")} LEFT JOIN output o ON o.key = q.key
    JOIN (SELECT rule, count(*) AS size FROM odd GROUP BY rule) s ON s.rule = q.rule
    ORDER BY q.code <> 'fail', coalesce(q.confidence, 0.0) DESC, s.size DESC, q.first, q.second
"""


def disagreements(*made: Source, partly: Collection[str] = ()) -> Table:
    """A row per output, rule and judge on which code and judge differ; columns ``DISAGREEMENT_COLUMNS``.

    Args:
        made: a run, or the tables of its verdicts and of its outputs.
        partly: rules that code decides in part only; only code's fails are held against the judge there.
    """
    run = database_of(*made)
    run.need("verdict_rules", "output_keys")
    with run.chosen(partly) as chosen:
        return Table.of_tuples(run.query(_DISAGREEMENTS.format(partly=chosen)), DISAGREEMENT_COLUMNS)
