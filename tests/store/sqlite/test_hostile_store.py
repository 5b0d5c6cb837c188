"""A store that comes with a stranger's checkout: nothing that its schema brings along is run."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from promptpex.core.errors import StoreDamaged, StoreError
from promptpex.core.records import Completion
from promptpex.store import SqliteStore
from promptpex.store.sqlite.file import APPLICATION_ID, SCHEMA_VERSION, store_error
from tests.llm.questions import request

pytestmark = pytest.mark.timeout(300)
"""Most of these had no end."""

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
COLUMNS = "id, model, stage, created_at, scrubbed, request, completion"


async def made(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.put(request().id, request(), Completion(text="kept"))


ALTERED = {
    "an endless view": f"DROP TABLE replies; CREATE VIEW replies AS WITH r AS ({ENDLESS}) "
    "SELECT 'a' id, 'm' model, 's' stage, 1.0 created_at, 0 scrubbed, '{}' request, '{}' completion FROM r",
    "a view of zeros": "DROP TABLE replies; CREATE VIEW replies AS SELECT 'a' id, 'm' model, 's' stage, 1.0 "
    "created_at, 0 scrubbed, '{}' request, hex(zeroblob(400000000)) completion",
    "an endless trigger": f"CREATE TRIGGER t AFTER INSERT ON claims BEGIN {ENDLESS}; END",
    "a trigger that deletes": "CREATE TRIGGER t AFTER INSERT ON replies BEGIN DELETE FROM replies; END",
    "a check": "DROP TABLE claims; CREATE TABLE claims (id TEXT PRIMARY KEY, owner TEXT CHECK (length(owner)))",
    "a generated column": "ALTER TABLE owners ADD COLUMN more TEXT AS (hex(zeroblob(900000000)))",
    "an index on an expression": "CREATE INDEX more ON replies (hex(zeroblob(100)))",
    "another table": "CREATE TABLE more (x)",
    "a table too few": "DROP TABLE owners",
}


@pytest.mark.parametrize("change", ALTERED.values(), ids=ALTERED.keys())
async def test_a_store_with_another_schema_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "store.db"
    await made(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(change)
    connection.close()
    with pytest.raises(StoreDamaged, match="did not create"):
        SqliteStore(path)


@pytest.mark.parametrize("version", [0, -1])
async def test_an_altered_store_does_not_pass_as_a_new_one(tmp_path: Path, version: int) -> None:
    path = tmp_path / "store.db"
    await made(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(ALTERED["a trigger that deletes"])
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(StoreError, match="did not create"):
        SqliteStore(path)


async def test_an_ordinary_store_is_used_also_after_analyze(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await made(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("ANALYZE; VACUUM")
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    connection.close()
    async with SqliteStore(path) as store:
        assert await store.get(request().id) == Completion(text="kept")
        await store.prune(0)
        assert await store.verify() == []


async def test_a_schema_whose_text_is_no_text_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await made(path)
    raw = path.read_bytes()
    start = raw.index(b"CREATE TABLE owners")
    for place in range(start, start + 40):
        path.write_bytes(raw[:place] + b"\xbe" + raw[place + 1 :])
        with pytest.raises(StoreError, match=r"store\.db: "):
            SqliteStore(path)


def test_a_value_too_large_to_be_read_is_named(tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    with pytest.raises(sqlite3.DataError) as caught:
        connection.execute("SELECT zeroblob(2000)").fetchone()
    connection.close()
    error = store_error(tmp_path / "store.db", caught.value)
    assert isinstance(error, StoreDamaged)
    assert "more than 256 MB" in str(error)
    assert "again" not in str(error)


async def test_an_entry_nested_too_deep_to_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await made(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET request = ?", ("[" * 100_000,))
    connection.close()
    async with SqliteStore(path) as store:
        assert [problem.what for problem in await store.verify()] == ["its request cannot be read"]
        with pytest.raises(StoreDamaged):
            [entry async for entry in store.entries()]
