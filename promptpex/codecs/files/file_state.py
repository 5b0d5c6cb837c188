"""What tells whether a file has changed since it was last looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class FileState(NamedTuple):
    """What changes whenever a file does.

    Attributes:
        size: in bytes.
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
