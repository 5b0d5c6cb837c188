"""Tables of outputs without their texts: what figures are computed from, of runs whose texts do not fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpex.tables.frames import KEYS, TEXT, grouped

if TYPE_CHECKING:
    import pandas as pd

FIGURE_COLUMNS = (
    "case", "rule", "inverse", "scenario", "model", "repeat", "output", "verdict", "unscored", "asked", "contradicted",
    "error", "message", "finish_reason", "tokens_in", "tokens_out", "cost_usd", "latency_ms",
)  # fmt: skip
"""Columns of ``FigureRows``: those of ``outputs`` without large texts. ``output`` is empty where there is a text."""


class FigureRows:
    """The outputs of a run without their texts, from tables that come part by part; each different text is kept once.

    Some 130 bytes for an output.
    """

    def __init__(self) -> None:
        self._parts: list[pd.DataFrame] = []
        self._texts: dict[str, str] = {}

    def add(self, rows: pd.DataFrame) -> None:
        """Adds a table of outputs."""
        import pandas as pd

        self._parts.append(pd.DataFrame({name: self._column(rows, name) for name in FIGURE_COLUMNS}, copy=False))

    def _column(self, rows: pd.DataFrame, name: str) -> pd.Series:
        import pandas as pd

        column = rows[name]
        if name == "output":
            return column.where(column.isna(), "")
        if column.dtype != "string":
            return column
        codes, texts = pd.factorize(column)
        kept = pd.array([self._texts.setdefault(text, text) for text in texts], dtype=TEXT)
        return pd.Series(kept.take(codes, allow_fill=True), index=column.index)

    def table(self) -> pd.DataFrame:
        """All of them, in their order."""
        import pandas as pd

        if len(self._parts) != 1:
            self._parts = [pd.concat(self._parts, ignore_index=True)]
        return self._parts[0]


def has_one_twice(rows: pd.DataFrame) -> bool:
    """Whether an output is in a table of outputs twice."""
    return int(grouped(rows, KEYS).max(initial=-1)) + 1 < len(rows)


def verdicts_on(rows: pd.DataFrame, cube: pd.DataFrame) -> pd.DataFrame:
    """The verdicts on these outputs."""
    keys = rows[list(KEYS)].drop_duplicates()
    return cube.merge(keys, on=list(KEYS))[list(cube.columns)]
