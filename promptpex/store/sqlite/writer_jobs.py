"""What the store's thread is asked to do, and how a group of it is done in few statements.

Python's sqlite3 gives its lock away around every statement and has to wait for it when the event loop is busy; so a
group costs a handful of statements, whatever its size.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.store.sqlite.leases import Owner

Row = tuple[str, str, str, float, int, str, str]
"""A row of the table of replies."""

JOBS_PER_STATEMENT = 400
"""Jobs of a kind that are done together: their ids are one JSON text of some 30 KB."""

ROWS_PER_STATEMENT = (64, 16, 4, 1)
"""Rows in one statement: few sizes, each of which SQLite parses only once."""


_CHANGES = "SELECT total_changes()"


@dataclass(frozen=True, slots=True)
class Put:
    """Store a reply, and end the claim on it. Gives whether it is stored: not if an earlier one is there."""

    row: Row


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim a question. Gives whether it is claimed."""

    id: str


@dataclass(frozen=True, slots=True)
class Release:
    """Give a claim back."""

    id: str


Job = Put | Claim | Release | Callable[[sqlite3.Connection], object]


def execute(connection: sqlite3.Connection, owner: Owner, jobs: Sequence[Job]) -> list[object]:
    """Does all of ``jobs`` and gives their results, in their order."""
    results: dict[int, object] = {}
    for kind, do in ((Put, _put), (Release, _release), (Claim, _claim)):
        numbers = [number for number, job in enumerate(jobs) if isinstance(job, kind)]
        for at in range(0, len(numbers), JOBS_PER_STATEMENT):
            job_numbers = numbers[at : at + JOBS_PER_STATEMENT]
            results.update(
                zip(job_numbers, do(connection, owner, [jobs[number] for number in job_numbers]), strict=True)
            )
    for number, job in enumerate(jobs):
        if not isinstance(job, Put | Claim | Release):
            results[number] = job(connection)
    return [results[number] for number in range(len(jobs))]


def _put(connection: sqlite3.Connection, owner: Owner, jobs: Sequence[Any]) -> list[bool]:
    rows: dict[str, Row] = {}
    for job in jobs:
        rows.setdefault(job.row[0], job.row)
    rows_json = json.dumps(list(rows))
    added = insert_new(connection, list(rows.values()))
    connection.execute("DELETE FROM claims WHERE id IN (SELECT value FROM json_each(?))", (rows_json,))
    if added == len(jobs):
        return [True] * len(jobs)
    return [job.row is rows[job.row[0]] and _holds(connection, job.row) for job in jobs]


def insert_new(connection: sqlite3.Connection, rows: Sequence[Row]) -> int:
    """Inserts the rows whose ids are not there, many to a statement, in a few sizes that SQLite has to parse only once;
    how many that were."""
    before: int = connection.execute(_CHANGES).fetchone()[0]
    at = 0
    for size in ROWS_PER_STATEMENT:
        query = "INSERT OR IGNORE INTO replies VALUES " + ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * size)
        while len(rows) - at >= size:
            connection.execute(query, [value for row in rows[at : at + size] for value in row])
            at += size
    return int(connection.execute(_CHANGES).fetchone()[0]) - before


def _holds(connection: sqlite3.Connection, row: Row) -> bool:
    """Whether the store's reply is this one, not an earlier one."""
    (answer,) = connection.execute("SELECT completion FROM replies WHERE id = ?", (row[0],)).fetchone()
    return bool(answer == row[-1])


def _release(connection: sqlite3.Connection, owner: Owner, jobs: Sequence[Any]) -> list[None]:
    owner.release(connection, [job.id for job in jobs])
    return [None] * len(jobs)


def _claim(connection: sqlite3.Connection, owner: Owner, jobs: Sequence[Any]) -> list[bool]:
    claimed = owner.claim(connection, list(dict.fromkeys(job.id for job in jobs)))
    return [job.id in claimed for job in jobs]


def needs_durability(jobs: Sequence[Job]) -> bool:
    """Whether a group has to outlive a loss of power: claims need not, they die with their process."""
    return not all(isinstance(job, Claim | Release) for job in jobs)
