"""What a Parquet file unpacks to, by the headers of its pages, before any of it is unpacked.

A header is a struct in Thrift's compact protocol (``PageHeader`` in parquet-format). What the file's footer says of
sizes is not asked: pyarrow goes by the headers, and so a few bytes there can ask for gigabytes.
"""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, BinaryIO

_TYPE, _SIZE, _PACKED, _DATA, _DICTIONARY, _DATA_V2 = 1, 2, 3, 5, 7, 8
"""Fields of a header."""
_ENCODING = {_DATA: 2, _DATA_V2: 4}
_SHARES_BEGINNINGS = 7
"""The encoding whose values name how much they take over from the one before."""
_LONGEST_HEADER = 16_000_000
_DEEPEST = 8
_DAMAGED = "the header of a page is damaged"


@dataclass(frozen=True, slots=True)
class Pages:
    """What the pages of a file hold.

    Attributes:
        size: bytes of all of them, unpacked.
        values: their values, nulls too; ``inner`` are those in lists.
        longest: bytes of the longest page whose bytes several values may share, and each then has of its own.
    """

    size: int = 0
    values: int = 0
    inner: int = 0
    longest: int = 0


def pages(file: BinaryIO, metadata: Any, kept: Collection[str] = ()) -> Pages:
    """The pages of an open file, by the columns that its metadata, pyarrow's, names.

    Args:
        kept: columns that are read as what a dictionary holds, without a copy for each value.

    Raises:
        ValueError: a header is damaged, or a list has values that share their bytes.
    """
    try:
        return _counted(file, metadata, kept)
    except (LookupError, TypeError):
        raise ValueError(_DAMAGED) from None


def _counted(file: BinaryIO, metadata: Any, kept: Collection[str] = ()) -> Pages:
    size = values = inner = longest = 0
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            in_list = metadata.schema.column(number).max_repetition_level > 0
            for page in _headers(file, column):
                count, shares = _of_values(page)
                if shares and in_list and page[_TYPE] != 2:
                    raise ValueError("a list of texts that share their beginnings is not read")
                size, values, inner = size + page[_SIZE], values + count, inner + count * in_list
                longest = max(longest, page[_SIZE] * (shares and column.path_in_schema not in kept))
    return Pages(size, values, inner, longest)


def _headers(file: BinaryIO, column: Any) -> Any:
    """The headers of a column's pages, as pyarrow finds them: one behind another, from its dictionary on."""
    at, first = column.data_page_offset, column.dictionary_page_offset
    at = first if first is not None and 0 < first < at else at
    end = at + column.total_compressed_size
    while at < end:
        header, length = _header(file, at)
        if min(header.get(_SIZE, -1), header.get(_PACKED, -1)) < 0:
            raise ValueError(_DAMAGED)
        yield header
        at += length + header[_PACKED]


def _header(file: BinaryIO, at: int) -> tuple[dict[int, Any], int]:
    for length in (1_000, _LONGEST_HEADER):
        file.seek(at)
        data = io.BytesIO(file.read(length))
        try:
            return _struct(data), data.tell()
        except IndexError:
            continue
    raise ValueError(_DAMAGED)


def _of_values(page: dict[int, Any]) -> tuple[int, bool]:
    """How many values a page has, and whether several may share its bytes."""
    kind = next((kind for kind in (_DICTIONARY, _DATA, _DATA_V2) if isinstance(page.get(kind), dict)), None)
    if kind is None:
        return 0, False
    shares = kind == _DICTIONARY or page[kind].get(_ENCODING[kind]) == _SHARES_BEGINNINGS
    return max(0, page[kind].get(1, 0)), shares


def _struct(data: io.BytesIO, depth: int = 0) -> dict[int, Any]:
    fields: dict[int, Any] = {}
    name = 0
    while head := data.read(1)[0]:
        name = name + (head >> 4) if head >> 4 else _number(data)
        fields[name] = _value(data, head & 15, depth)
    return fields


def _value(data: io.BytesIO, kind: int, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError(_DAMAGED)
    if kind in (1, 2):
        return kind == 1
    if kind in (4, 5, 6):
        return _number(data)
    if kind == 12:
        return _struct(data, depth + 1)
    if kind in (9, 10):
        head = data.read(1)[0]
        count = head >> 4 if head >> 4 < 15 else _unsigned(data)
        for _ in range(count):
            _value(data, 3 if head & 15 < 3 else head & 15, depth + 1)
        return None
    if kind not in (3, 7, 8):
        raise ValueError(_DAMAGED)
    length = _unsigned(data) if kind == 8 else {3: 1, 7: 8}[kind]
    if len(data.read(length)) < length:
        raise IndexError
    return None


def _number(data: io.BytesIO) -> int:
    value = _unsigned(data)
    return value >> 1 ^ -(value & 1)


def _unsigned(data: io.BytesIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = data.read(1)[0]
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise ValueError(_DAMAGED)
