"""``parquet``: a suite as a Parquet file with typed columns, both ways without loss; other tables come in with
``--columns``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from promptpex.codecs import parquet
from promptpex.core.errors import SuiteError
from promptpex.core.records import Suite
from promptpex.interchange.column_mapping import COLUMNS, FIRST, Table, imported
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Source, begins
from promptpex.interchange.suite_table import Cells, rows_of

_WHAT = "table"
_SURROGATE = re.compile("[\ud800-\udfff]")


def read(path: Path, *, columns: str | None = None, first: int | None = None) -> Imported:
    """The suite of a Parquet file.

    Args:
        columns: which columns are what, where they are not called as ours are; dots lead into mappings.
        first: how many rows are read; by default all.

    Raises:
        SuiteError: it is not a Parquet file, or a row is wrong; with file and row.
    """
    return imported(table_of(path), columns=columns, first=first)


def table_of(path: Path, kind: Literal["Parquet", "Arrow"] = "Parquet") -> Table:
    """The rows of a Parquet or Arrow file without the columns that hold bytes.

    Raises:
        SuiteError: it is another kind of file.
    """
    types, rows = parquet.table(path, kind, what=_WHAT, error=SuiteError)
    plain = tuple(name for name, odd in types.items() if odd is None)
    unfit = {name: odd for name, odd in types.items() if odd is not None}
    return Table(path, plain, enumerate(rows, 1), unfit, nested=True)


def write(source: Source) -> Exported:
    """The suite as a Parquet file; inputs that are all texts, numbers or truth values have a column of that type."""
    return Exported(data=dumps(source.suite()))


def dumps(suite: Suite) -> bytes:
    """The suite as the bytes of a Parquet file.

    Raises:
        InputError: pyarrow is not installed.
    """
    kinds = _kinds(suite)

    def fits(name: str, value: object) -> bool:
        return type(value) is kinds.get(name) and (kinds[name] is not int or -(2**63) <= int(str(value)) < 2**63)

    names, *rows = rows_of(suite, Cells(_SURROGATE, fits, None))
    columns = [[row[at] for row in rows] for at in range(len(names))]
    return parquet.dumps(dict(zip(names, columns, strict=True)))


def _kinds(suite: Suite) -> Mapping[str, type[Any]]:
    """By input the type of its column: that of the first value that has one."""
    kinds: dict[str, type[Any]] = {}
    for case in suite.cases:
        for name, value in case.inputs.items():
            if isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
                kinds.setdefault(name, type(value))
    return kinds


def recognise(path: Path) -> bool:
    """Whether it begins as a Parquet file does."""
    return path.suffix.lower() == ".parquet" and begins(path, 4) == b"PAR1"


FORMAT = Format(
    name="parquet",
    summary="the cases as a Parquet file, with the columns of csv and their types",
    import_note="or those that --columns names",
    extensions=(".parquet",),
    reads="suite",
    writes="suite",
    read=read,
    write=write,
    read_options=(COLUMNS, FIRST),
    recognise=recognise,
    maps=(
        Mapped("a row", "a case, by the columns of `csv` or of `--columns`; with dots, a field of a struct"),
        Mapped("texts, integers, numbers, true and false", "the same"),
        Mapped("dates, times", "ISO texts", "in", "their type"),
        Mapped("durations, decimals", "numbers, durations in seconds", "in", "digits beyond a double's"),
        Mapped("nulls, NaN", "nothing: the case has no such input", "in"),
        Mapped("lists, structs", "lists and mappings, which a prompt shows as JSON", "in"),
        Mapped("bytes, images, sounds and other types", "nothing", "in", "they are named"),
    ),
)
