"""How the judges fared: what each was asked, and how often no usable verdict came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_ASKED, UNCLEAR
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
    import numpy as np

    judged = is_from(cube, "judge")
    if not judged.any():
        return typed((), JUDGE_COLUMNS)
    replies = cube.loc[judged, ["source", "model", "case", "repeat", "turn", "status", "unscored", "reason"]]
    request = grouped(replies, ["source", "model", "case", "repeat", "turn"])
    failed = _failed(replies)
    failed_first = np.argsort(~failed, kind="stable")
    _, first = np.unique(request[failed_first], return_index=True)
    kept = np.sort(failed_first[first])
    groups = replies.iloc[kept].assign(_failed=failed[kept]).groupby("source", sort=False, observed=True)
    return typed((_row(str(source), group) for source, group in groups), JUDGE_COLUMNS)


def _failed(replies: pd.DataFrame) -> npt.NDArray[np.bool_]:
    failed = replies["status"].eq("unscored") & replies["unscored"].ne(UNCLEAR).fillna(True)
    marks: npt.NDArray[np.bool_] = failed.to_numpy(bool)
    return marks


def _row(source: str, requests: pd.DataFrame) -> dict[str, Any]:
    cut = requests["_failed"] & requests["unscored"].isin(NOT_ASKED).fillna(False)
    failed = requests[requests["_failed"] & ~cut]
    asked = len(requests) - int(cut.sum())
    reasons = Counter(failed["unscored"].fillna("unknown"))
    row: dict[str, Any] = {
        "judge": source.removeprefix("judge:"),
        "asked": asked,
        "outputs": int((~requests.loc[~cut].duplicated(["model", "case", "repeat"])).sum()),
        "failed": len(failed),
        "not_asked": int(cut.sum()),
        "failed_share": len(failed) / asked if asked else None,
    }
    if failed.empty:
        return row
    return {
        **row,
        "reasons": ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()),
        "example": failed["reason"].iloc[0] or None,
    }
