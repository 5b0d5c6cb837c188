"""Reading the text files that people hand us: bounded in size, any Unicode encoding that says which it is."""

from __future__ import annotations

import codecs
from pathlib import Path

from promptpex.codecs.files.ordinary_files import MEGABYTE, read_bytes
from promptpex.core.errors import InputError

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def read_text(path: Path | str, *, error: type[InputError], what: str, limit: int = MEGABYTE) -> str:
    """The text of a file, its byte order mark removed and its line ends as they are.

    UTF-8, with or without its mark, and UTF-16 with its mark are read.

    Args:
        limit: bytes; a longer file is refused without being read.
    """
    return decode(read_bytes(Path(path), error=error, what=what, limit=limit), path=path, error=error, what=what)


def decode(data: bytes, *, path: Path | str | None, error: type[InputError], what: str) -> str:
    """The text of these bytes, as ``read_text`` reads them."""
    mark, encoding = next((pair for pair in _MARKS if data.startswith(pair[0])), (b"", "utf-8"))
    body = data[len(mark) :]
    if encoding == "utf-8" and b"\0" in body:
        offset = len(mark) + body.index(b"\0")
        raise error(f"the {what} is binary: there is a NUL at byte {offset}; give a text file in UTF-8", path=path)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as failure:
        offset = len(mark) + failure.start
        raise error(
            f"the {what} is not {encoding.upper()} text: byte {offset} cannot be read; save it in UTF-8", path=path
        ) from None
    if not text.strip():
        raise error(f"the {what} is empty", path=path)
    return text
