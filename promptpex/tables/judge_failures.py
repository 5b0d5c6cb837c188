"""How the judges fared: what each was asked, and how often no usable verdict came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_ASKED, UNCLEAR
from promptpex.tables.counts_per_case import CUT_CODES
from promptpex.tables.frames import grouped, is_from, typed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

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


def judges(cube: pd.DataFrame) -> pd.DataFrame:
    """A row per judge from a table of verdicts, in the order of their first verdicts; columns ``JUDGE_COLUMNS``.

    It failed where a rule has no verdict because of the reply; that a judge calls a rule unclear is a verdict.
    """
    counts = JudgeCounts()
    counts.add(cube)
    return counts.table()


@dataclass(slots=True)
class _JudgeTally:
    """What a judge was asked, and what came of it."""

    asked: int = 0
    outputs: int = 0
    not_asked: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    example: str | None = None

    def row(self, source: str) -> dict[str, Any]:
        """The judge's row."""
        failed = self.reasons.total()
        row: dict[str, Any] = {
            "judge": source.removeprefix("judge:"),
            "asked": self.asked,
            "outputs": self.outputs,
            "failed": failed,
            "not_asked": self.not_asked,
            "failed_share": failed / self.asked if self.asked else None,
        }
        if not failed:
            return row
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())
        return {**row, "reasons": reasons, "example": self.example or None}


class JudgeCounts:
    """What ``judges`` counts, from verdicts that come part by part; an output is in one part."""

    def __init__(self) -> None:
        self._judges: dict[str, _JudgeTally] = {}

    def add(self, cube: pd.DataFrame) -> None:
        """Adds the verdicts on some outputs."""
        import numpy as np

        judged = is_from(cube, "judge")
        if not judged.any():
            return
        replies = cube.loc[judged, ["source", "model", "case", "repeat", "turn", "status", "unscored", "reason"]]
        request = grouped(replies, ["source", "model", "case", "repeat", "turn"])
        failed = _failed(replies)
        failed_first = np.argsort(~failed, kind="stable")
        _, first = np.unique(request[failed_first], return_index=True)
        first_failures = np.sort(failed_first[first])
        groups = (
            replies.iloc[first_failures]
            .assign(_failed=failed[first_failures])
            .groupby("source", sort=False, observed=True)
        )
        for source, group in groups:
            _add(self._judges.setdefault(str(source), _JudgeTally()), group)

    def table(self) -> pd.DataFrame:
        """The table; columns ``JUDGE_COLUMNS``."""
        return typed((judge.row(source) for source, judge in self._judges.items()), JUDGE_COLUMNS)


def _failed(replies: pd.DataFrame) -> npt.NDArray[np.bool_]:
    failed = replies["status"].eq("unscored") & replies["unscored"].ne(UNCLEAR).fillna(True)
    marks: npt.NDArray[np.bool_] = failed.to_numpy(bool)
    return marks


def _add(judge: _JudgeTally, requests: pd.DataFrame) -> None:
    cut = requests["_failed"] & requests["unscored"].isin(NOT_ASKED | CUT_CODES).fillna(False)
    failed = requests[requests["_failed"] & ~cut]
    judge.asked += len(requests) - int(cut.sum())
    judge.outputs += int((~requests.loc[~cut].duplicated(["model", "case", "repeat"])).sum())
    judge.not_asked += int(cut.sum())
    if len(failed) and not judge.reasons:
        judge.example = failed["reason"].iloc[0]
    judge.reasons.update(failed["unscored"].fillna("unknown"))
