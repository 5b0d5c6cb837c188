"""The store's SQLite file: its tables, how it is opened, and what its errors mean to a user."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from promptpex.codecs.files.atomic import write_bytes
from promptpex.core.errors import StoreDamaged, StoreError, StoreFull, StoreLocked, StoreReadOnly
from promptpex.core.sentences import on_one_line

OWN_FOLDER = ".promptpex"
IGNORED = b"*\n!.gitignore\n!schemas/\n!schemas/**\n"
"""What git leaves out of our folder: all but the schemas, which the files of people name."""
IGNORED_ONCE = b"*\n"
"""What earlier versions wrote there."""


def ignore(folder: Path) -> None:
    """Keeps our own folder out of git, but for the schemas; what a person wrote there stays."""
    file = folder / ".gitignore"
    if folder.name != OWN_FOLDER or file.is_symlink() or (file.exists() and file.read_bytes() != IGNORED_ONCE):
        return
    write_bytes(file, IGNORED, links=False)


APPLICATION_ID = 0x70707831
"""Marks the file as ours (SQLite's ``application_id``)."""

SCHEMA_VERSION = 1

MOST_BYTES = 256 * 1024 * 1024
"""The longest value that is read from a store or made inside of SQLite."""

OPENING_S = 20.0
"""Seconds that opening may take in all, waiting for other processes not included."""

_STEPS = 100_000
"""Instructions of SQLite between two looks at the clock."""

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
"""A full disk, and a spent quota where the system has them."""

Synchronous = Literal["full", "normal"]

_TABLES = """
CREATE TABLE IF NOT EXISTS replies (
    id TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    stage TEXT NOT NULL,
    created_at REAL NOT NULL,
    scrubbed INTEGER NOT NULL,
    request TEXT NOT NULL,
    completion TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS owners (
    owner TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    beat INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS claims (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL
);
"""


def open_database(path: Path, *, synchronous: Synchronous, busy_timeout_s: float) -> sqlite3.Connection:
    """A connection in autocommit mode to the store at ``path``, which is made if it is missing (mode 0600).

    Raises:
        StoreError: the file cannot be made, opened or used.
    """
    with named_errors(path):
        _make_file(path)
        connection = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path, synchronous)
        except BaseException:
            connection.close()
            raise
        return connection


LOG_POLL_S = 0.01
"""Between two tries to switch a store to its log while another process does."""

_MAKING = threading.Lock()
"""Two threads that open one store: the second waits until the first has made the file and closed it."""


def _make_file(path: Path) -> None:
    if not path.name or path.is_dir():
        raise StoreReadOnly(f"{path}: the store is a folder; name a file for it.")
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
    ignore(path.parent)
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if file.is_symlink():
            raise StoreReadOnly(f"{file}: the store is a link, which is not followed; name the file itself.")
    # A file that SQLite has open must not be opened a second time: closing it would give up this process's locks on it,
    # and another process could take the log away (https://www.sqlite.org/howtocorrupt.html, 2.2).
    with _MAKING:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            _refuse_odd(path)


def _refuse_odd(path: Path) -> None:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _prepare(connection: sqlite3.Connection, path: Path, synchronous: Synchronous) -> None:
    """Makes the connection ready. The file may be a stranger's: nothing that it brings along is run."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    until = time.monotonic() + OPENING_S
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    _make_ready(connection, path, synchronous)
    connection.set_progress_handler(None, 0)


def _make_ready(connection: sqlite3.Connection, path: Path, synchronous: Synchronous) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    _refuse_foreign(connection, path)
    if version > SCHEMA_VERSION:
        raise StoreError(f"{path}: the store was written by a newer promptpex; update promptpex or name another store.")
    if version == SCHEMA_VERSION:
        _refuse_altered(connection, path)
    _log_ahead(connection)
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    if version < SCHEMA_VERSION:
        _make_tables(connection, path)


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switches to a write-ahead log. SQLite does not wait for a lock here, as where two processes make a new store."""
    ends = time.monotonic() + connection.execute("PRAGMA busy_timeout").fetchone()[0] / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= ends:
                raise
        time.sleep(LOG_POLL_S)


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    # In this order: another process that makes the store writes both at once.
    holds = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if holds and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreDamaged(f"{path}: this SQLite file is not a promptpex store; name another path for the store.")


def _refuse_altered(connection: sqlite3.Connection, path: Path) -> None:
    """A store holds our tables and nothing else: a view, a trigger, a generated column or a check could run."""
    present: set[str] = set()
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        own = str(name).startswith("sqlite_") and (kind == "table" or (kind == "index" and sql is None))
        if not own:
            present.add(on_one_line(str(sql)))
    expected_tables = {on_one_line(each.replace("IF NOT EXISTS ", "")) for each in _TABLES.split(";") if each.strip()}
    if present != expected_tables:
        raise StoreDamaged(
            f"{path}: this file says it is a promptpex store, but contains tables, views or triggers that promptpex "
            "did not create. It was not used; move it away, or name another path for the store."
        )


def _make_tables(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        _refuse_foreign(connection, path)
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        _refuse_altered(connection, path)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


FAILURES = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What SQLite and the file system raise; a damaged file can hold what is not text, also in SQLite's own messages."""


@contextlib.contextmanager
def named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise store_error(path, error) from error


def store_error(path: Path, error: BaseException) -> StoreError:
    """The ``StoreError`` for what SQLite or the file system raised.

    SQLite's primary result code is the lowest byte of the code (https://www.sqlite.org/rescode.html).
    """
    if isinstance(error, StoreError):
        return error
    code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, UnicodeDecodeError):
        return StoreDamaged(
            f"{path}: the store is damaged or not an SQLite file. Move it away to start afresh, or recover its "
            "contents with sqlite3's .recover command; nothing was written to it."
        )
    if code == sqlite3.SQLITE_TOOBIG:
        return StoreDamaged(
            f"{path}: the store contains a value of more than {MOST_BYTES // 1024**2} MB, which is not read. Move it "
            "away to start afresh, or name another path for the store."
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLocked(
            f"{path}: another program keeps the store locked. Close it and run the same command again; "
            "what was committed is kept."
        )
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", None) in _FULL:
        return StoreFull(
            f"{path}: no space is left for the store. Free some and run the same command again; "
            "what was committed is kept."
        )
    if isinstance(error, OSError) or code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreReadOnly(
            f"{path}: the store cannot be written ({_why(error)}). Give write permission or name another path for it."
        )
    return StoreError(
        f"{path}: the store failed ({_why(error)}); run the same command again, what was committed is kept."
    )


def _why(error: BaseException) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
