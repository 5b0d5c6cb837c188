"""`promptpex cache copy`: between stores of both kinds, and on again after it was killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import sys
import uuid
from pathlib import Path

import pytest

from promptpex.core.records import Completion
from promptpex.core.store_address import is_address, parse_address
from promptpex.store import SqliteStore, open_store
from promptpex.store.row_texts import copy_replies
from tests.e2e.command import environment
from tests.e2e.faults import command, until
from tests.fork_server.start import forking
from tests.llm.questions import request
from tests.postgres import Cluster


async def filled(path: Path, count: int = 5) -> Path:
    async with SqliteStore(path, clock=lambda: 1_700_000_000.5, synchronous="normal") as store:
        asked = [request(str(number)) for number in range(count)]
        await asyncio.gather(*(store.put(each.id, each, Completion(text="\0 x")) for each in asked))
    return path


async def rows(location: str) -> list[tuple[str, float, str]]:
    store = await open_store(location)
    try:
        return sorted([(entry.id, entry.created_at, entry.completion.text) async for entry in store.entries()])
    finally:
        await store.close()


async def test_there_and_back_nothing_is_lost_and_times_stay(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = postgres.address()
    source = await filled(tmp_path / "a.db", 230)
    done = await command(["cache", "copy", "a.db", address])
    assert (done.code, done.out) == (0, "230 replies copied, 0 there before\n"), done.err
    again = await command(["cache", "copy", "a.db", address, "--json"])
    assert json.loads(again.out) == {"copied": 0, "there": 230, "unreadable": 0}
    back = await command(["cache", "copy", address, "b.db"])
    assert back.code == 0, back.err
    further = await command(["cache", "copy", "b.db", "c.db"])
    assert further.code == 0, further.err
    assert await rows(str(source)) == await rows(address) == await rows(str(tmp_path / "c.db"))
    assert {at for _, at, _ in await rows(address)} == {1_700_000_000.5}


async def test_what_cannot_be_copied_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    missing = await command(["cache", "copy", "none.db", "b.db"])
    assert missing.code == 2
    assert "no store here yet" in missing.err
    assert not (tmp_path / "none.db").exists()
    assert not (tmp_path / "b.db").exists()
    await filled(tmp_path / "a.db")
    assert "the same store" in (await command(["cache", "copy", "a.db", "a.db"])).err
    secret = await command(["cache", "copy", "a.db", "postgresql://me:hunter2000@host/db"])
    assert secret.code == 2
    assert "PGPASSWORD" in secret.err
    assert "hunter2000" not in secret.err
    with contextlib.closing(sqlite3.connect("a.db")) as connection, connection:
        connection.execute("UPDATE replies SET completion = '{}' WHERE id = ?", (request("1").id,))
        connection.execute("UPDATE replies SET id = 'x\x1b[2J' WHERE id = ?", (request("2").id,))
        connection.execute("INSERT INTO replies VALUES (x'ff', 'm', 'output', 1, 0, '{}', '{}')")
    done = await command(["cache", "copy", "a.db", "b.db"])
    assert done.code == 0, done.err
    assert done.out == "3 replies copied, 0 there before\n"
    assert "2 cannot be read" in done.err
    assert "\x1b" not in done.err


@pytest.mark.parametrize("way", ["file to server", "server to file"])
async def test_a_killed_copy_goes_on_where_it_was(postgres: Cluster, tmp_path: Path, way: str) -> None:
    source, target = _ends(way, postgres)
    await filled(tmp_path / "a.db", 900)
    if source != "a.db":
        await copy_to(tmp_path / "a.db", source)
    arguments = [sys.executable, "-m", "promptpex", "cache", "copy", source, target]
    with forking():
        process = await asyncio.create_subprocess_exec(*arguments, cwd=tmp_path, env=environment())
    try:
        await until(lambda: process.returncode is not None or _count(tmp_path, target, postgres) > 0)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    await until(lambda: not _is_connected(target, postgres))
    before = _count(tmp_path, target, postgres)
    assert before > 0
    with forking():
        again = await asyncio.create_subprocess_exec(
            *arguments, "--json", cwd=tmp_path, env=environment(), stdout=asyncio.subprocess.PIPE
        )
    out, _ = await again.communicate()
    assert json.loads(out) == {"copied": 900 - before, "there": before, "unreadable": 0}
    assert await rows(str(tmp_path / "a.db")) == await rows(_seen_from_here(tmp_path, target))


def _ends(way: str, cluster: Cluster) -> tuple[str, str]:
    """Source and target of a copy."""
    source, _, target = way.partition(" to ")
    return (
        "a.db" if source == "file" else cluster.address(),
        "b.db" if target == "file" else cluster.address(application_name=f"copy-{uuid.uuid4().hex}"),
    )


def _is_connected(store: str, cluster: Cluster) -> bool:
    """Whether the server still has a connection to it, which may commit what it was sent."""
    if not is_address(store):
        return False
    name = parse_address(store).parameters["application_name"]
    return cluster.execute(f"SELECT FROM pg_stat_activity WHERE application_name = '{name}'") != []


def _seen_from_here(folder: Path, store: str) -> str:
    return store if is_address(store) else str(folder / store)


async def copy_to(path: Path, location: str) -> None:
    target = await open_store(location)
    async with SqliteStore(path) as source:
        await copy_replies(source, target)
    await target.close()


def _count(folder: Path, store: str, cluster: Cluster) -> int:
    """The replies that a store has by now, which may not be there yet."""
    if is_address(store):
        name = parse_address(store).schema
        if cluster.execute(f"SELECT to_regclass('{name}.replies')") == [(None,)]:
            return 0
        ((count,),) = cluster.execute(f"SELECT count(*) FROM {name}.replies")
        assert isinstance(count, int)
        return count
    if not (folder / store).exists():
        return 0
    with contextlib.closing(sqlite3.connect(folder / store)) as connection, contextlib.suppress(sqlite3.Error):
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
    return 0
