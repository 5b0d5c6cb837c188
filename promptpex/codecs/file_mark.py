"""What a file is known by on several machines: its length, and digests of how it begins and ends."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from promptpex.core.errors import InputError

_LOOKED_AT = 4096
"""Bytes at the beginning and before the end that are looked at."""


@dataclass(frozen=True, slots=True)
class FileMark:
    """A file as it was when a command began to read it; what is appended later makes no other file of it.

    Attributes:
        length: bytes.
        digest: of its first and its last bytes.
    """

    length: int
    digest: bytes

    @classmethod
    def of(cls, file: BinaryIO) -> FileMark:
        """The mark of an open file, which is read elsewhere than where it is."""
        length = os.fstat(file.fileno()).st_size
        return cls(length, _digest(file, length))

    def require(self, file: BinaryIO, path: Path, *, error: type[InputError], what: str) -> None:
        """Goes on at the beginning of an open file, if it is the marked one.

        Raises:
            InputError: (as ``error``) it is another one.
        """
        here = os.fstat(file.fileno()).st_size
        if here < self.length or _digest(file, self.length) != self.digest:
            raise error(f"the {what} is another one there", path=path)


def _digest(file: BinaryIO, length: int) -> bytes:
    digest = hashlib.sha256()
    for place in (0, max(0, length - _LOOKED_AT)):
        file.seek(place)
        digest.update(file.read(min(_LOOKED_AT, length - place)))
    file.seek(0)
    return digest.digest()
