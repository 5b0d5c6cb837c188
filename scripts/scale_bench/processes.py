"""What the processes below this one are, and what CPU time they have taken; Linux only (``/proc``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """A process: its id, its command line, and the seconds of CPU time that it has taken."""

    pid: int
    parent: int
    command: str
    cpu_s: float

    @property
    def is_worker(self) -> bool:
        """Whether it is a worker that asks: an actor of ``engines/ray_links.py``, by the name that Ray gives it."""
        return self.command.startswith("ray::_Actor")


def below(root: int | None = None) -> list[Process]:
    """All living processes that this one has started, and those that they have."""
    by_parent: dict[int, list[Process]] = {}
    for process in _all():
        by_parent.setdefault(process.parent, []).append(process)
    descendants, todo = list[Process](), [root or os.getpid()]
    while todo:
        for process in by_parent.get(todo.pop(), ()):
            descendants.append(process)
            todo.append(process.pid)
    return descendants


def _all() -> Iterator[Process]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            yield Process(int(folder.name), int(fields[1]), command, (int(fields[11]) + int(fields[12])) / TICKS)
