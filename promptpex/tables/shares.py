"""Shares of broken outputs or rules with intervals that know what hangs together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.stats import clustered_share
from promptpex.tables.frames import typed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

SHARE_COLUMNS: Mapping[str, str] = {
    "scored": "Int64",
    "broken": "Int64",
    "share": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "unscored": "Int64",
    "interval": "string",
}
"""``share`` is ``broken`` of ``scored``. ``interval`` is how its interval was made: ``wilson`` where every scored row
stands for itself, ``cluster-robust`` where several rest on one aim (a rule, or its inverse; see ``clusters``) or on one
case."""

FEWEST_AIMS = 10
"""With fewer clusters their variance is hardly known (Cameron and Miller 2015, J. Hum. Resour. 50:317, section VI), and
the few rules of a prompt are all there are rather than a sample: then the cases count."""

KIND_COLUMNS: Mapping[str, str] = {"model": "string", "kind": "string", **SHARE_COLUMNS}
"""Columns of ``kinds``: ``kind`` is ``rule``, ``inverse`` or ``no aim``: what the case aims at."""

SCENARIO_COLUMNS: Mapping[str, str] = {"model": "string", "scenario": "string", **SHARE_COLUMNS}
"""Columns of ``scenarios``; cases of no scenario stand under a missing name."""


def kinds(rows: pd.DataFrame, *, confidence: float = 0.95) -> pd.DataFrame:
    """A row per model and kind of case, from a table of outputs: rule cases against inverse cases."""
    kind = rows["inverse"].fillna(False).map({True: "inverse", False: "rule"}).astype("string")
    told = rows.assign(kind=kind.mask(rows["rule"].isna(), "no aim"))
    return typed(grouped_shares(told, ["model", "kind"], "verdict", "rule", confidence), KIND_COLUMNS)


def scenarios(rows: pd.DataFrame, *, confidence: float = 0.95) -> pd.DataFrame:
    """A row per model and scenario, from a table of outputs; none where no case has a scenario."""
    some = rows if rows["scenario"].notna().any() else rows.iloc[:0]
    return typed(grouped_shares(some, ["model", "scenario"], "verdict", "rule", confidence), SCENARIO_COLUMNS)


def grouped_shares(
    frame: pd.DataFrame, by: Sequence[str], status: str, aim: str, confidence: float
) -> Iterator[dict[str, Any]]:
    """A row for each group in the order of its first appearance: the keys, and ``SHARE_COLUMNS``.

    Args:
        frame: has the columns ``by``, ``case``, ``inverse`` and those that the next two name.
        by: what makes a group.
        status: the column of ``pass``, ``fail`` and ``unscored``.
        aim: the column of the rule that the case aims at.
        confidence: of the intervals.
    """
    fails, passes = frame[status].eq("fail"), frame[status].eq("pass")
    small = frame[[*by]].assign(
        _cluster=clusters(frame, aim),
        _broken=fails.to_numpy("int64"),
        _scored=(fails | passes).to_numpy("int64"),
        _rows=1,
    )
    sums = small.groupby([*by, "_cluster"], sort=False, observed=True, dropna=False).sum().reset_index()
    for _, group in sums.groupby([*by], sort=False, observed=True, dropna=False):
        keys = {name: group[name].iloc[0] for name in by}
        counts = group["_broken"].tolist(), group["_scored"].tolist()
        scored = sum(counts[1])
        yield {**keys, "unscored": int(group["_rows"].sum()) - scored, **share_of(*counts, confidence)}


def share_of(broken: Sequence[int], scored: Sequence[int], confidence: float) -> dict[str, Any]:
    """``SHARE_COLUMNS`` but ``unscored``, from what each cluster holds."""
    part, whole = sum(broken), sum(scored)
    counts = {"scored": whole, "broken": part}
    if whole == 0:
        return counts
    found = clustered_share(broken, scored, confidence)
    return {
        **counts,
        "share": found.estimate,
        "ci_low": found.low,
        "ci_high": found.high,
        "interval": found.method,
    }


def clusters(frame: pd.DataFrame, aim: str) -> npt.NDArray[np.int64]:
    """For each row, the number of what it hangs together with.

    Cases that aim at the same rule, or at the same inverse, are made alike and hang together, where there are
    ``FEWEST_AIMS`` aims or more. Otherwise, and where a case has no aim, only the rows of one case do.
    """
    import pandas as pd

    codes, names = pd.factorize(frame["case"])
    first = frame[["case", aim, "inverse"]].drop_duplicates("case")
    side = first["inverse"].fillna(False).map({True: " inverse", False: " rule"})
    own = "case " + first["case"]
    aims = first[aim] + side
    key = (aims.fillna(own) if aims.nunique() >= FEWEST_AIMS else own).set_axis(first["case"])
    of_case, _ = pd.factorize(key.loc[names])
    found: npt.NDArray[np.int64] = of_case[codes].astype("int64")
    return found
