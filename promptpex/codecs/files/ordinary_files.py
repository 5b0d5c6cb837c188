"""Ordinary files: what may be opened where a name, or a folder, may come from a stranger.

Everything that a file names is looked for by ``inside``: in one folder, which neither ``..`` nor a link leads out of.
Everything is opened by ``opened`` or read by ``read_bytes``: no folder, device or pipe, and no more than a given size.
A link on a prompt, a spec or another file of people is followed within its project only, since a link in a stranger's
checkout can name any file of this machine.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple

from promptpex.core.errors import InputError

MEGABYTE = 1_000_000


def room_for_repeats(size: int) -> int:
    """Characters that a file of so many bytes may make by repeating what it holds once, as a column's constant prompt:
    little for a small file, and in proportion beyond."""
    return 100 * MEGABYTE + 200 * max(0, size - 2 * MEGABYTE)


ROW = 400
"""Bytes that a row counts for on top of its own, where a few bytes of a packed file may be very many rows."""


def weight_of(data: bytes) -> int:
    """Bytes that values of JSON take in memory, from above: each value counts on top of its text."""
    return len(data) + 50 * sum(map(data.count, (b",", b"[", b"{")))


ROOTS = (".git", "promptpex.toml", "pyproject.toml")
"""What the top folder of a project is known by."""

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LINKED = (errno.ELOOP, getattr(errno, "EFTYPE", errno.ELOOP), errno.EMLINK)


def project_of(folder: Path) -> Path:
    """The nearest folder from here upward that looks like the top of a project, or the folder itself."""
    tops = (place for place in (folder, *folder.parents) if any((place / name).exists() for name in ROOTS))
    return next(tops, folder)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether the path, its links followed, lies in the folder; False where that cannot be told."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether there is a file; False for a name that no file can have, such as one that is too long."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def inside(
    folder: Path,
    name: str,
    *,
    error: type[InputError],
    what: str,
    path: Path | str | None = None,
    line: int | None = None,
) -> Path:
    """The file that ``name`` means in ``folder``; it need not exist."""
    file = folder / name
    if "\0" in name or not is_inside(file, folder):
        message = f"the {what} {name!r} is outside the folder of the file that names it; copy it there"
        raise error(message, path=path, line=line)
    return file


def opened(path: Path, *, error: type[InputError], what: str, links: bool = True) -> BinaryIO:
    """An ordinary file, open for reading.

    Args:
        links: whether a link is followed, within its project.
    """
    try:
        handle = os.open(path, os.O_RDONLY | NO_WAIT | (0 if links else NO_FOLLOW))
    except FileNotFoundError:
        raise error(f"there is no such {what}", path=path) from None
    except (OSError, ValueError) as failure:
        if getattr(failure, "errno", None) in _LINKED and path.is_symlink():
            raise error(f"the {what} is a link, which is not followed here", path=path) from None
        raise error(f"the {what} cannot be read: {_why(failure)}", path=path) from None
    try:
        _refuse_odd(os.fstat(handle).st_mode, path, error, what)
        if path.is_symlink() and not (links and is_inside(path, project_of(path.parent.resolve()))):
            raise error(f"the {what} is a link that leads out of its project; name the file itself", path=path)
        return os.fdopen(handle, "rb")
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(handle)
        raise


def read_bytes(path: Path, *, error: type[InputError], what: str, limit: int = MEGABYTE, links: bool = True) -> bytes:
    """The bytes of an ordinary file of at most ``limit`` bytes."""
    try:
        with opened(path, error=error, what=what, links=links) as file:
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise error(_too_long(what, size, limit), path=path)
            data = file.read(limit + 1)
    except (OSError, ValueError) as failure:
        raise error(f"the {what} cannot be read: {_why(failure)}", path=path) from None
    if len(data) > limit:
        raise error(_too_long(what, len(data), limit), path=path)
    return data


def created(path: Path, *, append: bool = False, readable: bool = False, mode: int = 0o666) -> int:
    """A handle to write an ordinary file by, emptied unless ``append``; missing folders are made, a link in its place
    is not followed.

    Args:
        readable: whether it can be read by that handle, too.

    Raises:
        OSError: it cannot be written, or is a link, a device or a pipe.
    """
    how = os.O_APPEND if append else os.O_TRUNC
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link, which is not followed here", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, (os.O_RDWR if readable else os.O_WRONLY) | os.O_CREAT | how | NO_WAIT | NO_FOLLOW, mode)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    return handle


def refuse_led_out(folder: Path, top: Path, error: type[InputError]) -> None:
    """Refuses a folder of ours that a link leads out of ``top``, which was chosen by the user."""
    if not is_inside(folder, top):
        raise error("a link leads this folder out of the one that holds it; remove the link", path=folder)


def _refuse_odd(mode: int, path: Path, error: type[InputError], what: str) -> None:
    if stat.S_ISDIR(mode):
        raise error(f"this is a folder; name the {what} in it", path=path)
    if not stat.S_ISREG(mode):
        raise error(f"this is not an ordinary file; give a {what}", path=path)


def _why(failure: Exception) -> str:
    return getattr(failure, "strerror", None) or str(failure)


def _too_long(what: str, size: int, limit: int) -> str:
    return f"the {what} has {size / MEGABYTE:.1f} MB; the limit is {limit / MEGABYTE:g} MB"


class FileState(NamedTuple):
    """What changes whenever a file does.

    Attributes:
        time: of the last change, in nanoseconds.
        place: on the disk; another file that takes its name has another one.
    """

    size: int
    time: int
    place: int


def state_of(path: Path) -> FileState | None:
    """The state of a file; None where there is none, or none that can be looked at."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):  # no name of a file holds a NUL
        return None
    return FileState(state.st_size, state.st_mtime_ns, state.st_ino)


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
