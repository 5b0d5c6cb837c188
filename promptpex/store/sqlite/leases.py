"""Who holds a claim on a question, and whether that process still lives.

No wall clock takes part, so a clock that jumps frees no claims: in this process an owner lives until its store
is closed; on the same host its process is looked up by id and start; on another host the count of its heartbeats (the
column `beat`) has to grow while we watch.
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from promptpex.store.living_processes import host_name, process_start

HEARTBEAT_S = 3.0
"""Seconds between two heartbeats of an owner."""

LEASE_S = 20.0
"""Seconds without a heartbeat after which an owner on another host counts as dead."""

_OPEN_HERE: set[str] = set()
"""The owners of this process's open stores. One whose claims could not be given back, such as on a full disk, is not
among them: its process would speak for it as long as it runs."""

_CLAIM = """
INSERT OR IGNORE INTO claims
SELECT value, ? FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM replies WHERE replies.id = value)
"""


@dataclass
class Owner:
    """This process as a holder of claims in one store.

    Args:
        monotonic: seconds on a clock that does not jump.
    """

    monotonic: Callable[[], float]
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=host_name)
    pid: int = field(default_factory=os.getpid)
    joined: bool = False
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)
    _last_heartbeat: float = 0.0
    _known: bool = False

    def __post_init__(self) -> None:
        _OPEN_HERE.add(self.name)

    def close(self) -> None:
        """Its store is closed: what it claims is free for others of this process."""
        _OPEN_HERE.discard(self.name)

    def claim(self, connection: sqlite3.Connection, ids: Sequence[str]) -> set[str]:
        """The questions that are this owner's to ask; not those that are answered or that a living owner has."""
        self._join(connection)
        ids_json = json.dumps(ids)
        if connection.execute(_CLAIM, (self.name, ids_json)).rowcount == len(ids):
            return set(ids)
        answered = among(connection, "SELECT group_concat(id) FROM replies WHERE id IN", ids)
        own_ids = among(connection, f"SELECT group_concat(id) FROM claims WHERE owner = '{self.name}' AND id IN", ids)
        open_ones = [each for each in ids if each not in answered and each not in own_ids]
        return own_ids | {each for each in open_ones if self._take_over(connection, each)}

    def committed(self) -> None:
        """A transaction of this owner is committed: it is known from now on."""
        self._known = self.joined

    def release(self, connection: sqlite3.Connection, ids: Sequence[str]) -> None:
        """Gives these claims back."""
        query = "DELETE FROM claims WHERE owner = ? AND id IN (SELECT value FROM json_each(?))"
        connection.execute(query, (self.name, json.dumps(ids)))

    def heartbeat_is_due(self) -> bool:
        """Whether it is time to show that this owner lives."""
        now = self.monotonic()
        if not self.joined or now - self._last_heartbeat < HEARTBEAT_S:
            return False
        self._last_heartbeat = now
        return True

    def heartbeat(self, connection: sqlite3.Connection) -> None:
        """Shows that this owner lives."""
        connection.execute("UPDATE owners SET beat = beat + 1 WHERE owner = ?", (self.name,))

    def leave(self, connection: sqlite3.Connection) -> None:
        """Gives all claims back."""
        connection.execute("DELETE FROM claims WHERE owner = ?", (self.name,))
        connection.execute("DELETE FROM owners WHERE owner = ?", (self.name,))

    def _join(self, connection: sqlite3.Connection) -> None:
        """Makes this owner known, in every transaction that claims until one of them is committed."""
        if self._known:
            return
        if not self.joined:
            for (other,) in connection.execute("SELECT owner FROM owners").fetchall():
                if not self._lives(connection, other):
                    connection.execute("DELETE FROM claims WHERE owner = ?", (other,))
                    connection.execute("DELETE FROM owners WHERE owner = ?", (other,))
        row = (self.name, self.host, self.pid, process_start(self.pid) or "", 0)
        connection.execute("INSERT OR IGNORE INTO owners VALUES (?, ?, ?, ?, ?)", row)
        self.joined = True

    def _take_over(self, connection: sqlite3.Connection, request_id: str) -> bool:
        """Whether the claim's holder is dead, which makes it this owner's."""
        (holder,) = connection.execute("SELECT owner FROM claims WHERE id = ?", (request_id,)).fetchone()
        if self._lives(connection, holder):
            return False
        connection.execute("UPDATE claims SET owner = ? WHERE id = ?", (self.name, request_id))
        return True

    def _lives(self, connection: sqlite3.Connection, owner: str) -> bool:
        query = "SELECT host, pid, started, beat FROM owners WHERE owner = ?"
        row = connection.execute(query, (owner,)).fetchone()
        if row is None:
            return False
        host, pid, started, heartbeats = row
        if host == self.host and pid == os.getpid():
            return owner in _OPEN_HERE
        if host == self.host and started:
            return process_start(pid) == str(started)
        now = self.monotonic()
        last_count, since = self._seen.get(owner, (None, now))
        if heartbeats != last_count:
            self._seen[owner] = (heartbeats, now)
            return True
        return now - since < LEASE_S


def among(connection: sqlite3.Connection, query: str, ids: Sequence[str]) -> set[str]:
    """The ids of ``ids`` that a query ending in ``IN`` finds: one row, so that the thread gives the lock away once."""
    (joined,) = connection.execute(f"{query} (SELECT value FROM json_each(?))", (json.dumps(ids),)).fetchone()
    return set(joined.split(",")) if joined else set()
