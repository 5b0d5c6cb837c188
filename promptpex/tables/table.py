"""A table: named columns of known kinds, small enough to show, in values of Python; a DataFrame where one is wanted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]


class Table:
    """Rows with the same columns. Missing values are None.

    It also answers to what a DataFrame of the same rows does, such as ``table["model"]`` or ``table.loc``: pandas is
    loaded then.

    Args:
        kinds: of the columns, as pandas calls them: ``string``, ``Int64``, ``Float64`` or ``boolean``.
        columns: the values of each; those that are not there are missing throughout.
    """

    def __init__(self, kinds: Mapping[str, str], columns: Mapping[str, Sequence[Any]], rows: int) -> None:
        self.kinds = kinds
        self._columns = {name: columns[name] if name in columns else [None] * rows for name in kinds}
        self._count = rows
        self._frame: pd.DataFrame | None = None

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], kinds: Mapping[str, str]) -> Table:
        """A table of these rows; what they have besides the columns is left out."""
        every = list(rows)
        columns = {name: [_as(kind, row.get(name)) for row in every] for name, kind in kinds.items()}
        return cls(kinds, columns, len(every))

    @classmethod
    def of_tuples(cls, rows: Iterable[Sequence[Any]], kinds: Mapping[str, str]) -> Table:
        """A table of rows that have a value for each column; flags may be 0 and 1."""
        every = list(rows)
        columns: dict[str, Sequence[Any]] = dict(zip(kinds, zip(*every, strict=True), strict=True)) if every else {}
        flags = {
            name: [None if one is None else bool(one) for one in columns[name]]
            for name in columns
            if kinds[name] == "boolean"
        }
        return cls(kinds, {**columns, **flags}, len(every))

    def __len__(self) -> int:
        return self._count

    def __contains__(self, column: object) -> bool:
        return column in self.kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._count} rows: {', '.join(self.kinds)}>"

    def column(self, name: str) -> list[Any]:
        """The values of a column."""
        return list(self._columns[name])

    def records(self) -> list[Row]:
        """The rows."""
        return [dict(zip(self.kinds, row, strict=True)) for row in self.tuples()]

    def tuples(self) -> Iterator[tuple[Any, ...]]:
        """The rows, a value for each column."""
        return zip(*self._columns.values(), strict=True)

    def where(self, holds: Callable[[Row], object]) -> Table:
        """The rows of which something holds."""
        return Table.of((row for row in self.records() if holds(row)), self.kinds)

    def without_values(self, columns: Collection[str]) -> Table:
        """The same table, in which these columns are missing throughout."""
        return Table(self.kinds, {name: self._columns[name] for name in self.kinds if name not in columns}, self._count)

    def with_columns(self, kinds: Mapping[str, str], columns: Mapping[str, Sequence[Any]]) -> Table:
        """The table with other values in some columns, or with further ones after its own."""
        return Table({**self.kinds, **kinds}, {**self._columns, **columns}, self._count)

    def frame(self) -> pd.DataFrame:
        """A new DataFrame of it, with dtypes that know a missing value. Texts are those of Python also where pyarrow is
        installed, which refuses lone surrogates."""
        import pandas as pd

        texts = {"string": "string[python]"}
        frame = pd.DataFrame(
            {name: pd.array(list(self._columns[name]), texts.get(kind, kind)) for name, kind in self.kinds.items()},  # type: ignore[call-overload]
            copy=False,
        )
        frame.columns = frame.columns.astype(texts["string"])
        return frame

    def __getitem__(self, key: Any) -> Any:
        return self._as_frame[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._as_frame, name)

    @property
    def _as_frame(self) -> pd.DataFrame:
        if self._frame is None:
            self._frame = self.frame()
        return self._frame


def _as(kind: str, value: Any) -> Any:
    """A value as a column of a kind has it: numbers of numpy as Python's, what is not a number as missing."""
    if value is None or value != value:
        return None
    return _KINDS[kind](value)


_KINDS: Mapping[str, Callable[[Any], Any]] = {"string": str, "Int64": int, "Float64": float, "boolean": bool}


def records(table: Table | pd.DataFrame) -> list[Row]:
    """The rows of a table or a DataFrame as plain dicts, missing values as None."""
    if isinstance(table, Table):
        return table.records()
    names = [str(name) for name in table.columns]
    columns = [plain_values(column) for _, column in table.items()]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def columns_of(table: Table | pd.DataFrame) -> Mapping[str, Sequence[Any]]:
    """The columns of a table or a DataFrame in values of Python."""
    if isinstance(table, Table):
        return {name: table.column(name) for name in table.kinds}
    return {str(name): plain_values(column) for name, column in table.items()}


def plain_values(column: pd.Series[Any], missing: Any = None) -> list[Any]:
    """A column of a DataFrame as numbers, flags and texts of Python.

    Args:
        column: any column.
        missing: what stands for a missing value.
    """
    import numpy as np
    from pandas.api.extensions import ExtensionDtype

    own = column if isinstance(column.dtype, ExtensionDtype) else column.astype(object)
    values: list[Any] = own.array.to_numpy(object, na_value=missing).tolist()
    if own.dtype == object:
        return [value.item() if isinstance(value, np.generic) else value for value in values]
    return values
