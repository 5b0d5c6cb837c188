"""Who holds a claim on a question, and whether that process still lives.

No wall clock takes part, so a clock that jumps frees nobody's claims: on the same host a process is asked for by its
id and start; on another host its beat, a counter, has to move while we watch.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PULSE_S = 3.0
"""Seconds between two beats of an owner."""

LEASE_S = 20.0
"""Seconds without a beat after which an owner on another host counts as dead."""


@dataclass
class Owner:
    """This process as a holder of claims in one store.

    Args:
        monotonic: seconds on a clock that does not jump.
    """

    monotonic: Callable[[], float]
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)
    registered: bool = False
    _last_beat: float = 0.0

    def claim(self, connection: sqlite3.Connection, request_id: str) -> bool:
        """Whether the question is this owner's to ask; False where it is answered or a living owner has it."""
        self._register(connection)
        if connection.execute("SELECT 1 FROM replies WHERE id = ?", (request_id,)).fetchone():
            return False
        added = connection.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", (request_id, self.name))
        if added.rowcount == 1:
            return True
        holder = connection.execute("SELECT owner FROM claims WHERE id = ?", (request_id,)).fetchone()[0]
        if holder != self.name and self._lives(connection, holder):
            return False
        connection.execute("UPDATE claims SET owner = ? WHERE id = ?", (self.name, request_id))
        return True

    def pulse(self) -> Callable[[sqlite3.Connection], None] | None:
        """The work of showing that this owner lives, when it is time for it."""
        now = self.monotonic()
        if not self.registered or now - self._last_beat < PULSE_S:
            return None
        self._last_beat = now
        return self._beat

    def leave(self, connection: sqlite3.Connection) -> None:
        """Gives all claims back."""
        connection.execute("DELETE FROM claims WHERE owner = ?", (self.name,))
        connection.execute("DELETE FROM owners WHERE owner = ?", (self.name,))

    def _register(self, connection: sqlite3.Connection) -> None:
        if self.registered:
            return
        for (other,) in connection.execute("SELECT owner FROM owners").fetchall():
            if not self._lives(connection, other):
                connection.execute("DELETE FROM claims WHERE owner = ?", (other,))
                connection.execute("DELETE FROM owners WHERE owner = ?", (other,))
        started = process_start(self.pid) or ""
        row = (self.name, self.host, self.pid, started, 0)
        connection.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?)", row)
        self.registered = True

    def _beat(self, connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE owners SET beat = beat + 1 WHERE owner = ?", (self.name,))

    def _lives(self, connection: sqlite3.Connection, owner: str) -> bool:
        query = "SELECT host, pid, started, beat FROM owners WHERE owner = ?"
        row = connection.execute(query, (owner,)).fetchone()
        if row is None:
            return False
        host, pid, started, beat = row
        if host == self.host and started:
            return process_start(pid) == str(started)
        now = self.monotonic()
        last_beat, since = self._seen.get(owner, (None, now))
        if beat != last_beat:
            self._seen[owner] = (beat, now)
            return True
        return now - since < LEASE_S


def process_start(pid: int) -> str | None:
    """When a process of this host started, as text that no later process with this id shares; None if unknown.

    Linux only (proc(5): ``starttime`` is field 22 of ``stat``; the boot id tells one boot from the next).
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return f"{boot}:{stat.rpartition(')')[2].split()[19]}"
