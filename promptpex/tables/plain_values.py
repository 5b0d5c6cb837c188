"""Tables as Python's own values, for what writes them to pages, terminals and files, or looks at them row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A DataFrame's rows as plain dicts, missing values as None."""
    if not len(frame):
        return []
    names = [str(name) for name in frame.columns]
    columns = [plain_values(column) for _, column in frame.items()]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain_values(column: pd.Series[Any], missing: Any = None) -> list[Any]:
    """A column as numbers, flags and texts of Python.

    Taken from the column as it is: a table of objects made first, as pandas does for ``to_dict``, costs ten times that
    on the small tables of a report.

    Args:
        column: any column of a table.
        missing: what stands for a missing value.
    """
    import numpy as np
    from pandas.api.extensions import ExtensionDtype

    own = column if isinstance(column.dtype, ExtensionDtype) else column.astype(object)
    values: list[Any] = own.array.to_numpy(object, na_value=missing).tolist()
    if own.dtype == object:
        return [value.item() if isinstance(value, np.generic) else value for value in values]
    return values
