"""Files packed by gzip, and parts of ZIP archives, read within bounds; nothing is written, whatever names they hold.

A file of a few kilobytes may unpack to gigabytes: what grows beyond what logs do is refused (RFC 1952, RFC 1951). Parts
that Zstandard has packed (method 93 of APPNOTE 6.3.8) take Python 3.14 or pyarrow.
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from promptpex.codecs.files.ordinary_files import ROW, opened, weight_of
from promptpex.core.errors import InputError

ENDING = ".gz"
MOST_TIMES = 250
"""How many times as long as the file its content may be, each value of JSON counted as what it takes in memory and
each line as ``ROW`` bytes more: logs are packed to a tenth, deflate manages a thousandth."""
FREE_BYTES = 100_000_000
"""Bytes of content that are read whatever the file's length."""


def unpacked(file: BinaryIO, path: Path) -> BinaryIO:
    """The content of an open file: unpacked where its name ends in ``.gz``, else the file itself.

    Reading it raises an OSError that says what is wrong: no gzip file, cut off, damaged, or far more than its length.
    """
    if path.suffix.lower() != ENDING:
        return file
    return io.BufferedReader(_Content(file), 1 << 18)


def plain_name(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ENDING else path


class _Content(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = gzip.GzipFile(fileobj=file, mode="rb")
        self._most = max(FREE_BYTES, os.fstat(file.fileno()).st_size * MOST_TIMES)
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._packed.read1(len(buffer))
        except EOFError:
            raise OSError("it is cut off: the end of the packed data is missing") from None
        except gzip.BadGzipFile as error:
            raise OSError(f"it cannot be unpacked ({error})") from None
        except zlib.error as error:
            raise OSError(f"it cannot be unpacked ({error})") from None
        self._read += weight_of(data) + ROW * data.count(b"\n")
        if self._read > self._most:
            raise OSError(f"it unpacks to more than {MOST_TIMES} times its length, which no log does")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
            self._file.close()
        super().close()


ZSTANDARD = 93
MOST_PARTS = 200_000
FREE_ZIP_BYTES, ZIP_TIMES = 20_000_000, 50
"""Bytes that the parts that are read may unpack to together, and how many times as long as the file beyond them; a
third of it may be one part."""
_HEADER = struct.Struct("<4s22xHH")


class ZipParts:
    """An open archive."""

    def __init__(self, file: BinaryIO, path: Path, what: str, error: type[InputError]) -> None:
        self._file, self._path, self._what, self._error = file, path, what, error
        with self._refusing():
            self._archive = zipfile.ZipFile(file)
        self._most = self._left = FREE_ZIP_BYTES + ZIP_TIMES * file.seek(0, io.SEEK_END)
        infos = self._archive.infolist()
        if len(infos) > MOST_PARTS:
            raise error(f"the {what} has more than {MOST_PARTS:,} parts", path=path)
        self.names = tuple(dict.fromkeys(info.filename for info in infos))

    def read(self, name: str) -> bytes:
        """The content of a part, which is JSON."""
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
    with opened(path, error=error, what=what) as file:
        yield ZipParts(file, path, what, error)
