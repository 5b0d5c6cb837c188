"""Writing files so that a reader, or a killed process, sees the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from promptpex.codecs.files.ordinary_files import is_inside, project_of

DEFAULT_MODE = 0o666


def write_bytes(path: Path | str, data: bytes, *, links: bool = True) -> None:
    """Replace ``path`` by ``data`` in one step; missing folders are made, an existing file keeps its permissions.

    Args:
        links: whether a symbolic link is followed: the file it names is replaced and the link stays, unless that file
            is outside the project. Without, the link itself is replaced.

    Raises:
        OSError: the folder cannot be written, the disk is full, ...; the old file is then untouched.
    """
    with writing(path, links=links) as file:
        file.write(data)


@contextlib.contextmanager
def writing(path: Path | str, *, links: bool = True) -> Iterator[IO[bytes]]:
    """A file to write into, which replaces ``path`` in one step when the block ends, and is gone where it fails.

    Arguments and errors are those of ``write_bytes``.
    """
    target = _target(Path(path)) if links else Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_text(path: Path | str, text: str, *, links: bool = True) -> None:
    """Replace ``path`` by ``text`` in UTF-8, line ends as they are, in one step.

    Lone surrogates, which UTF-8 does not have, are written as Python's ``surrogatepass`` does.
    """
    write_bytes(path, text.encode("utf-8", "surrogatepass"), links=links)


def _target(path: Path) -> Path:
    """The file that is replaced: the end of a link that stays in its project."""
    if path.is_symlink() and not is_inside(path, project_of(path.parent.resolve())):
        raise OSError(errno.ELOOP, "it is a link that leads out of its project; name the file itself", str(path))
    return Path(os.path.realpath(path))


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(_regular(target.lstat().st_mode))
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return DEFAULT_MODE & ~mask


def _regular(mode: int) -> int:
    """The mode, unless it is that of a link or a device, which is replaced by a new file."""
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not an ordinary file")
    return mode
