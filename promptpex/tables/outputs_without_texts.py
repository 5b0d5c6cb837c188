"""Tables of outputs without their texts: what figures are computed from, of runs whose texts do not fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from promptpex.tables.frames import KEYS, TEXT, grouped, with_plain_names
from promptpex.tables.mergeable_counts import Numbering

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

COLUMNS_OF_FIGURES = (
    "case", "rule", "inverse", "scenario", "model", "repeat", "output", "verdict", "unscored", "asked", "contradicted",
    "error", "message", "finish_reason", "tokens_in", "tokens_out", "cost_usd", "latency_ms", "answer",
)  # fmt: skip
"""Columns of ``FigureRows``: those of ``outputs`` without large texts. ``output`` is empty where there is a text;
``answer`` is what ``answers`` gives."""


class FigureRows:
    """The outputs of a run without their texts, from tables that come part by part; each different text is kept once.

    Some 100 bytes for an output while parts come, and 140 in the table.

    Args:
        columns: those that are kept.
    """

    def __init__(self, columns: Sequence[str] = COLUMNS_OF_FIGURES) -> None:
        self._texts = Numbering()
        self._columns: dict[str, list[Any]] = {name: [] for name in columns}
        self._table: pd.DataFrame | None = None

    def add(self, rows: pd.DataFrame) -> None:
        """Adds a table of outputs."""
        for name, parts in self._columns.items():
            column = answers(rows) if name == "answer" else rows[name]
            parts.append(self._coded(column, name) if column.dtype == "string" else column)

    def _coded(self, column: pd.Series[Any], name: str) -> npt.NDArray[np.int32]:
        import numpy as np
        import pandas as pd

        codes, texts = pd.factorize(column if name != "output" else column.where(column.isna(), ""))
        numbers = np.append(self._texts.of(list(texts)), -1)
        return numbers[codes].astype("int32")

    def table(self) -> pd.DataFrame:
        """All of them, in their order; none can be added any more."""
        import pandas as pd

        if self._table is None:
            texts: Any = pd.array(list(self._texts), dtype=TEXT)
            whole_columns = {name: self._whole(name, texts) for name in list(self._columns)}
            self._table = with_plain_names(pd.DataFrame(whole_columns, copy=False))
        return self._table

    def _whole(self, name: str, texts: Any) -> Any:
        import numpy as np
        import pandas as pd

        parts = self._columns.pop(name)
        if isinstance(parts[0], np.ndarray):
            return texts.take(np.concatenate(parts), allow_fill=True)
        return pd.concat(parts, ignore_index=True)


def answers(rows: pd.DataFrame) -> pd.Series[int]:
    """By what the request and the text of each output in a table are known again in this process: a hash."""
    import pandas as pd

    if "answer" in rows:
        return rows["answer"]
    pairs = zip(rows["request"].tolist(), rows["output"].tolist(), strict=True)
    return pd.Series([hash(pair) for pair in pairs], index=rows.index, dtype="int64")


def has_one_twice(rows: pd.DataFrame) -> bool:
    """Whether an output is in a table of outputs twice."""
    return int(grouped(rows, KEYS).max(initial=-1)) + 1 < len(rows)


def rows_on(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of verdicts, or of scores, that are on these outputs."""
    keys = rows[list(KEYS)].drop_duplicates()
    return table.merge(keys, on=list(KEYS))[list(table.columns)]
