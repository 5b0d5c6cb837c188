from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from promptpex.store import SqliteStore
from promptpex.store.sqlite.writer import LEASE_S, Owner, process_start
from tests.llm.questions import request

ID = request().id


@pytest.fixture
async def database(tmp_path: Path) -> sqlite3.Connection:
    await SqliteStore(tmp_path / "store.db").close()
    return sqlite3.connect(tmp_path / "store.db", isolation_level=None)


async def test_a_store_that_could_not_give_its_claims_back_holds_none_once_it_is_closed(tmp_path: Path) -> None:
    """As on a full disk: its rows stay, and its process goes on to live."""
    path = tmp_path / "store.db"
    one = SqliteStore(path, busy_timeout_s=0.0)
    assert await one.claim(ID)
    locked = sqlite3.connect(path, isolation_level=None)
    locked.execute("BEGIN IMMEDIATE")
    await one.close()
    locked.execute("COMMIT")
    assert locked.execute("SELECT count(*) FROM claims").fetchone() == (1,)
    locked.close()
    async with SqliteStore(path) as two:
        assert await two.claim(ID)


CLAIMS = """
import asyncio, sys, time
from promptpex.store import SqliteStore
store = SqliteStore(sys.argv[1])
print(asyncio.run(store.claim(sys.argv[2])), flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems wait for the beat")
async def test_the_claims_of_a_killed_process_are_free_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLAIMS, str(tmp_path / "store.db"), ID]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"True\n"
    async with SqliteStore(tmp_path / "store.db") as store:
        assert not await store.claim(ID)
        process.kill()
        await process.wait()
        assert await store.claim(ID)


def test_an_owner_on_another_host_lives_while_its_beat_moves(database: sqlite3.Connection) -> None:
    now = [0.0]
    here = Owner(lambda: now[0], host="here")
    there = Owner(lambda: now[0], host="there")
    assert there.claim(database, [ID]) == {ID}
    assert not here.claim(database, [ID])
    for _ in range(5):
        now[0] += LEASE_S - 1
        assert there.heartbeat_is_due()
        there.heartbeat(database)
        assert not here.claim(database, [ID])
    now[0] += LEASE_S - 1
    assert not here.claim(database, [ID])
    now[0] += 2
    assert here.claim(database, [ID]) == {ID}


def test_a_process_id_that_was_given_anew_is_another_process(database: sqlite3.Connection) -> None:
    if process_start(os.getpid()) is None:
        pytest.skip("this system does not tell when a process started")
    one, two = Owner(lambda: 0.0), Owner(lambda: 0.0)
    assert one.claim(database, [ID]) == {ID}
    assert not two.claim(database, [ID])
    database.execute("UPDATE owners SET pid = 1 WHERE owner = ?", (one.name,))
    assert two.claim(database, [ID]) == {ID}


async def test_a_beat_is_written_while_claims_are_held(tmp_path: Path) -> None:
    now = [0.0]
    async with SqliteStore(tmp_path / "store.db", monotonic=lambda: now[0]) as store:
        await store.claim(ID)
        now[0] = 100.0
        await store.claim("other")
        database = sqlite3.connect(tmp_path / "store.db")
        assert database.execute("SELECT beat FROM owners").fetchall() == [(1,)]
        database.close()
        await asyncio.sleep(0)
