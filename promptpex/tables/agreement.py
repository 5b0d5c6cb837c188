"""How far code and judges agree: on the same rule of the same output, and one judge with itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_CONCERNED
from promptpex.stats import clustered_agreement
from promptpex.tables.frames import dtypes, is_from, typed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Codes = npt.NDArray[np.int64]

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

KEYS = ["model", "case", "repeat", "rule"]


def agreements(cube: pd.DataFrame, *, partly: Collection[str] = (), confidence: float = 0.95) -> pd.DataFrame:
    """Agreement overall and per rule, for code and each judge, each two judges, and each judge with itself.

    Args:
        cube: a table of verdicts.
        partly: rules that code decides in part only: of those, a pass by code is not a verdict on the rule.
        confidence: of the intervals.
    """
    scored = cube.loc[cube["status"].ne("unscored"), [*KEYS, "status", "source", "turn"]]
    judges = _judges(scored)
    if not judges:
        return typed([], AGREEMENT_COLUMNS)
    code = _code(scored, partly)
    pairs = [("code-judge", "code", name, code, verdicts) for name, verdicts in judges.items()]
    pairs += [("judges", one, two, judges[one], judges[two]) for one, two in combinations(judges, 2)]
    later = scored[scored["turn"].gt(0)]
    again = {str(name): group for name, group in later.groupby("source", sort=False, observed=True)}
    pairs += [("again", name, name, judges[name], verdicts) for name, verdicts in again.items() if name in judges]
    rows = (row for pair in pairs for row in _pair_rows(*pair, confidence))
    return typed(rows, AGREEMENT_COLUMNS)


def disagreements(cube: pd.DataFrame, rows: pd.DataFrame, *, partly: Collection[str] = ()) -> pd.DataFrame:
    """A row per output, rule and judge on which code and judge differ; columns ``DISAGREEMENT_COLUMNS``.

    Args:
        cube, rows: tables of verdicts and of outputs.
        partly: rules that code decides in part only; only code's fails are held against the judge there.
    """
    scored = cube[cube["status"].ne("unscored")]
    judged = scored[is_from(scored, "judge") & scored["turn"].eq(0)]
    if judged.empty:
        return typed([], DISAGREEMENT_COLUMNS)
    code = _code(scored, partly)
    code = code[code["rule"].isin(judged["rule"].unique())]
    if code.empty:
        return typed([], DISAGREEMENT_COLUMNS)
    both = code.merge(judged, on=KEYS, suffixes=("_code", ""))
    odd = both[both["status_code"].eq("fail").ne(both["status"].eq("fail"))].copy()
    if odd.empty:
        return typed([], DISAGREEMENT_COLUMNS)
    odd["_milder"] = odd["status_code"].ne("fail")
    odd["_unsure"] = -odd["confidence"].fillna(0.0)
    odd["_rare"] = -odd.groupby("rule", observed=True)["rule"].transform("size")
    odd = odd.sort_values(["_milder", "_unsure", "_rare"], kind="stable")
    shown = odd.merge(rows[["model", "case", "repeat", "inputs", "output"]], on=KEYS[:3], how="left")
    named = {"status_code": "code", "status": "judge", "source_code": "check", "source": "judged_by"}
    shown = shown.rename(columns=named | {"reason_code": "code_reason", "reason": "judge_reason"})
    return shown[list(DISAGREEMENT_COLUMNS)].astype(dtypes(DISAGREEMENT_COLUMNS))


def _code(scored: pd.DataFrame, partly: Collection[str]) -> pd.DataFrame:
    code = scored[is_from(scored, "check")]
    return code[~(code["rule"].isin(list(partly)) & code["status"].eq("pass"))]


def _judges(scored: pd.DataFrame) -> dict[str, pd.DataFrame]:
    first = scored[is_from(scored, "judge") & scored["turn"].eq(0)]
    return {str(name): group for name, group in first.groupby("source", sort=False, observed=True)}


def _pair_rows(
    kind: str, first: str, second: str, one: pd.DataFrame, two: pd.DataFrame, confidence: float
) -> Iterator[dict[str, Any]]:
    import pandas as pd

    both = one[[*KEYS, "status"]].merge(two[[*KEYS, "status"]], on=KEYS, suffixes=("_one", "_two"))
    if both.empty:
        return
    named = {"kind": kind, "first": first, "second": second}
    cases, cells, left_out = pd.factorize(both["case"])[0], _cells(both), _left_out(both)
    yield {**named, **_figures(cases, cells, left_out, confidence)}
    rules, names = pd.factorize(both["rule"])
    for number, rule in enumerate(names):
        here = rules == number
        yield {**named, "rule": rule, **_figures(cases[here], cells[here], left_out[here], confidence)}


def _cells(both: pd.DataFrame) -> Codes:
    """Per item, the cell of the fourfold table of fail and pass: 2 if the first passes it, and 1 if the second does."""
    one, two = (both[name].eq("pass").to_numpy(dtype="int64") for name in ("status_one", "status_two"))
    cells: Codes = 2 * one + two
    return cells


def _left_out(both: pd.DataFrame) -> Codes:
    """Per item, how many of the two found that the rule does not concern the output."""
    import numpy as np

    one, two = (both[name].eq(NOT_CONCERNED).to_numpy(bool) for name in ("status_one", "status_two"))
    left_out: Codes = np.add(one, two, dtype="int64")
    return left_out


def _figures(cases: Codes, cells: Codes, left_out: Codes, confidence: float) -> dict[str, Any]:
    """The figures of items by their cases and cells, of those that neither found not concerned."""
    import numpy as np

    concerned = np.flatnonzero(left_out == 0)
    row: dict[str, Any] = {
        "n": len(concerned),
        "both_not_concerned": int((left_out == 2).sum()),
        "one_not_concerned": int((left_out == 1).sum()),
    }
    return row | (_fourfold(cases[concerned], cells[concerned], confidence) if len(concerned) else {})


def _fourfold(cases: Codes, cells: Codes, confidence: float) -> dict[str, Any]:
    import numpy as np

    tables = np.bincount(4 * cases + cells, minlength=4 * (int(cases.max()) + 1)).reshape(-1, 2, 2)
    agreement = clustered_agreement(tables, confidence)
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
