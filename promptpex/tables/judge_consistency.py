"""How far code and judges agree: on the same rule of the same output, and one judge with itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from promptpex.tables.agreement_counts import KEYS, AgreementCounts, code_of
from promptpex.tables.frames import dtypes, is_from, typed

if TYPE_CHECKING:
    import pandas as pd

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


def agreements(cube: pd.DataFrame, *, partly: Collection[str] = (), confidence: float = 0.95) -> pd.DataFrame:
    """Agreement overall and per rule, for code and each judge, each two judges, and each judge with itself.

    Args:
        cube: a table of verdicts.
        partly: rules that code decides in part only: of those, a pass by code is not a verdict on the rule.
        confidence: of the intervals.
    """
    counts = AgreementCounts(partly)
    counts.add(cube)
    return counts.table(confidence)


def disagreements(cube: pd.DataFrame, rows: pd.DataFrame, *, partly: Collection[str] = ()) -> pd.DataFrame:
    """A row per output, rule and judge on which code and judge differ; columns ``DISAGREEMENT_COLUMNS``.

    Args:
        cube, rows: tables of verdicts and of outputs.
        partly: rules that code decides in part only; only code's fails are held against the judge there.
    """
    differing = Disagreements(partly)
    differing.add(cube, rows)
    return differing.table()


class Disagreements:
    """What ``disagreements`` lists, from verdicts and outputs that come part by part; an output is in one part.

    It grows with the disagreements and their texts alone.
    """

    def __init__(self, partly: Collection[str] = ()) -> None:
        self._partly = partly
        self._odd: list[pd.DataFrame] = []
        self._texts: list[pd.DataFrame] = []

    def add(self, cube: pd.DataFrame, rows: pd.DataFrame) -> None:
        """Adds the verdicts on some outputs, and these."""
        if not (is_from(cube, "judge").any() and is_from(cube, "check").any()):
            return
        scored = cube[cube["status"].ne("unscored")]
        judged = scored[is_from(scored, "judge") & scored["turn"].eq(0)]
        code = code_of(scored, self._partly)
        code = code[code["rule"].isin(judged["rule"].unique())]
        if judged.empty or code.empty:
            return
        both = code.merge(judged, on=KEYS, suffixes=("_code", ""))
        odd = both[both["status_code"].eq("fail").ne(both["status"].eq("fail"))]
        if odd.empty:
            return
        needed = [*KEYS, "status_code", "status", "source_code", "source", "reason_code", "reason", "confidence"]
        self._odd.append(odd[needed])
        texts = rows[[*KEYS[:3], "inputs", "output"]]
        self._texts.append(texts.merge(odd[KEYS[:3]].drop_duplicates(), on=KEYS[:3]))

    def table(self) -> pd.DataFrame:
        """The table; columns ``DISAGREEMENT_COLUMNS``."""
        import pandas as pd

        if not self._odd:
            return typed([], DISAGREEMENT_COLUMNS)
        odd = pd.concat(self._odd, ignore_index=True)
        odd["_milder"] = odd["status_code"].ne("fail")
        odd["_unsure"] = -odd["confidence"].fillna(0.0)
        odd["_rare"] = -odd.groupby("rule", observed=True)["rule"].transform("size")
        odd = odd.sort_values(["_milder", "_unsure", "_rare"], kind="stable")
        with_texts = odd.merge(pd.concat(self._texts, ignore_index=True), on=KEYS[:3], how="left")
        named = {"status_code": "code", "status": "judge", "source_code": "check", "source": "judged_by"}
        with_texts = with_texts.rename(columns=named | {"reason_code": "code_reason", "reason": "judge_reason"})
        return with_texts[list(DISAGREEMENT_COLUMNS)].astype(dtypes(DISAGREEMENT_COLUMNS))
