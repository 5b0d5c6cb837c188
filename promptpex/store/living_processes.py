"""Whether a process of this host still lives."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from functools import lru_cache
from pathlib import Path


def host_name() -> str:
    """This host as process ids see it: its name, and on Linux the namespace that the ids belong to."""
    with contextlib.suppress(OSError):
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


@lru_cache(maxsize=1)
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def process_start(pid: int) -> str | None:
    """When a living process of this host started, as text that no later process with its id shares; None if unknown.

    Linux only (proc(5): ``state`` and ``starttime`` are fields 3 and 22 of ``stat``; the boot id tells one boot from
    the next).
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else f"{_boot()}:{fields[19]}"
    except (OSError, IndexError, ValueError):  # the id may be a stranger's
        return None
