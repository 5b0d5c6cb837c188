"""The parts of a ZIP archive, read one by one and bounded; nothing is written anywhere, whatever its names say.

Parts that Zstandard has packed (method 93 of APPNOTE 6.3.8) take Python 3.14 or pyarrow.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from promptpex.codecs.files.ordinary_files import opened, weight_of
from promptpex.core.errors import InputError

ZSTANDARD = 93
MOST_PARTS = 200_000
FREE_BYTES, TIMES = 20_000_000, 50
"""Bytes that the parts that are read may unpack to together, and how many times as long as the file beyond them; a
third of it may be one part."""
_HEADER = struct.Struct("<4s22xHH")


class ZipParts:
    """An open archive.

    Attributes:
        names: of its parts, in order.
    """

    def __init__(self, file: BinaryIO, path: Path, what: str, error: type[InputError]) -> None:
        self._file, self._path, self._what, self._error = file, path, what, error
        with self._refusing():
            self._archive = zipfile.ZipFile(file)
        self._most = self._left = FREE_BYTES + TIMES * file.seek(0, io.SEEK_END)
        infos = self._archive.infolist()
        if len(infos) > MOST_PARTS:
            raise error(f"the {what} has more than {MOST_PARTS:,} parts", path=path)
        self.names = tuple(dict.fromkeys(info.filename for info in infos))

    def read(self, name: str) -> bytes:
        """The content of a part, which is JSON.

        Raises:
            InputError: it is damaged, encrypted, packed as cannot be read here, or too long with those read before.
        """
        with self._refusing():
            info = self._archive.getinfo(name)
            self._spend(info.file_size, at_once=3 * info.file_size)
            if info.compress_type == ZSTANDARD:
                data = self._zstandard(info)
            else:
                with self._archive.open(info) as part:
                    data = part.read(info.file_size)
            self._spend(weight_of(data) - len(data))
            return data

    def _spend(self, size: int, at_once: int = 0) -> None:
        self._left -= size
        if self._left < 0 or at_once > self._most:
            raise self._error(
                f"the {self._what} unpacks to far more than its size explains; if it is yours, import it as JSON",
                path=self._path,
            )

    def _zstandard(self, info: zipfile.ZipInfo) -> bytes:
        self._file.seek(info.header_offset)
        mark, name, extra = _HEADER.unpack(self._file.read(_HEADER.size))
        if mark != b"PK\x03\x04" or info.flag_bits & 1:
            raise self._error(f"the part {info.filename!r} is damaged or encrypted", path=self._path)
        self._file.seek(name + extra, io.SEEK_CUR)
        data = _unpacked(self._file.read(info.compress_size), info.file_size, self._path, self._error)
        if zlib.crc32(data) != info.CRC:
            raise self._error(f"the part {info.filename!r} is damaged", path=self._path)
        return data

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except Exception as failure:  # zipfile, zlib, lzma, bz2 and pyarrow each have errors of their own
            why = str(failure).strip().partition("\n")[0][:200] or type(failure).__name__
            raise self._error(f"the {self._what} cannot be read: {why}", path=self._path) from None


def _unpacked(data: bytes, size: int, path: Path, error: type[InputError]) -> bytes:
    """What Zstandard has packed; of more than ``size`` bytes no more than one too many is unpacked."""
    try:
        import pyarrow
    except ImportError as missing:
        raise error(
            "this file is packed with Zstandard, which needs: pip install 'promptpex[parquet]'", path=path
        ) from (missing)
    stream: Any = pyarrow.input_stream(io.BytesIO(data), compression="zstd")
    content: bytes = stream.read(size + 1)
    return content


@contextmanager
def opened_zip(path: Path, *, what: str, error: type[InputError] = InputError) -> Iterator[ZipParts]:
    """The parts of an archive.

    Raises:
        InputError: (as ``error``) the file is missing, or is not a ZIP archive.
    """
    with opened(path, error=error, what=what) as file:
        yield ZipParts(file, path, what, error)
