"""Writing files so that a reader, or a killed process, sees the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

DEFAULT_MODE = 0o666


def write_bytes(path: Path | str, data: bytes) -> None:
    """Replace ``path`` by ``data`` in one step; missing folders are made, an existing file keeps its permissions.

    A symbolic link is followed: the file it names is replaced, the link stays.

    Raises:
        OSError: the folder cannot be written, the disk is full, ...; the old file is then untouched.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_text(path: Path | str, text: str) -> None:
    """Replace ``path`` by ``text`` in UTF-8, line ends as they are, in one step.

    Lone surrogates, which UTF-8 does not have, are written as Python's ``surrogatepass`` does.
    """
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return DEFAULT_MODE & ~mask
