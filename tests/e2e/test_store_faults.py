"""The store under faults: full and read-only disks, a locked and a damaged file, two processes, a clock that jumps."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.core.records import Completion
from promptpex.store import SqliteStore
from tests.e2e.command import Done
from tests.e2e.faults import MODEL, Place, Script, command, place, reasons, sound
from tests.llm.questions import request
from tests.servers import ScriptedServer, Step, completion_body

LONG = Step(body=completion_body("NN " * 20000), delay_s=0.01)
DAY_S = 86400.0


def is_one_sentence(done: Done, *says: str) -> None:
    """Exit code 2 and one line that says what is wrong."""
    assert done.code == 2, done.err
    assert "Traceback" not in done.err + done.out
    last = done.err.strip().splitlines()[-1]
    assert last.startswith("promptpex: ")
    assert "internal error" not in last
    for each in says:
        assert each in last


def asked(here: Place, server: ScriptedServer, *more: str) -> list[str]:
    return here.arguments("--models", f"{MODEL}?api_base={server.url}/v1", "--concurrency", "4", *more)


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own at ``folder``; skips where it cannot be had."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.name != "posix" or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs takes rights that this user does not have")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


async def full_then_free(here: Place, server: ScriptedServer, done: Done, script: Script) -> None:
    """After a full disk: nothing that was committed is lost, and the next run asks only what is missing."""
    before = here.stored()
    assert 0 < len(before) < here.cells
    healed = await command(asked(here, server, "--json", "-q"))
    assert healed.code == 0, healed.err
    rows = here.rows()
    sound(here, healed, rows)
    assert reasons(rows) == {}
    assert before.items() <= here.stored().items()
    again = json.loads(healed.out)["requests"]["requests"]
    assert again == here.cells - len(before)
    assert max(script.paid.values()) <= 2  # what was in flight when the disk was full had no place to be kept in


async def test_a_full_disk_is_named_and_nothing_committed_is_lost(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path, cells=30)
    script = scripted.otherwise = Script(good=LONG)
    disk = tmp_path / "disk"
    with mounted(disk, "size=1m"):
        there = Place(disk, here.prompt, here.cells)
        done = await command(asked(there, scripted, "--results", str(tmp_path / "results")))
        is_one_sentence(done, "store.db", "no space")
        remount(disk, "size=64m")
        await full_then_free(there, scripted, done, script)


@pytest.mark.parametrize("what", ["store", "results", "log", "record"])
async def test_a_folder_that_is_read_only(tmp_path: Path, scripted: ScriptedServer, what: str) -> None:
    here = place(tmp_path, cells=2)
    scripted.otherwise = Script()
    locked = tmp_path / "locked"
    flags = {"store": "store.db", "results": "results", "log": "run.jsonl", "record": "run.jsonl"}
    with read_only(locked):
        done = await command(asked(here, scripted, f"--{what}", str(locked / flags[what])))
        is_one_sentence(done, str(locked))
    assert scripted.count == 0, "something was paid before the store was refused"


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that nobody can write: by its mode, or for root, whom modes do not bind, by its mount."""
    if os.geteuid() == 0:
        with mounted(folder, "ro,size=64k"):
            yield
        return
    folder.mkdir()
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)


async def test_a_store_that_is_locked_for_a_while_is_waited_for(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path, cells=4)
    scripted.otherwise = Script()
    await SqliteStore(here.store).close()
    other = sqlite3.connect(here.store, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(1.5, lambda: other.execute("COMMIT"))
    release.start()
    done = await command(asked(here, scripted))
    release.join()
    other.close()
    assert done.code == 0, done.err
    assert len(here.stored()) == 4


@pytest.mark.parametrize("damage", ["no database", "another program's database", "a page overwritten", "half the file"])
async def test_a_damaged_store_is_named_and_left_alone(tmp_path: Path, scripted: ScriptedServer, damage: str) -> None:
    here = place(tmp_path, cells=12)
    script = scripted.otherwise = Script(good=Step(body=completion_body("NN " * 500)))
    assert (await command(asked(here, scripted))).code == 0
    spoil(here.store, damage)
    before, sent = here.store.read_bytes(), script.sent
    done = await command(asked(here, scripted))
    is_one_sentence(done, "store.db")
    assert here.store.read_bytes() == before
    assert script.sent == sent
    verified = await command(["cache", "verify", "--store", str(here.store)])
    assert verified.code == 2
    assert "Traceback" not in verified.err


def spoil(path: Path, damage: str) -> None:
    data = path.read_bytes()
    if damage == "no database":
        path.write_bytes(b"these are notes, not a database\n" * 200)
    elif damage == "another program's database":
        path.unlink()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE birds (name TEXT)")
    elif damage == "a page overwritten":
        path.write_bytes(data[:4096] + b"\x5a" * (len(data) - 4096))
    else:
        path.write_bytes(data[: len(data) // 2])


async def test_a_clock_that_jumps_loses_no_reply_and_frees_no_claim(tmp_path: Path) -> None:
    now = [1_800_000_000.0]
    path = tmp_path / "store.db"
    async with SqliteStore(path, clock=lambda: now[0]) as store, SqliteStore(path, clock=lambda: now[0]) as other:
        await store.put(request("a").id, request("a"), Completion(text="A"))
        assert await store.claim(request("b").id)
        now[0] -= 3650 * DAY_S
        await store.put(request("c").id, request("c"), Completion(text="C"))
        assert await store.prune(30 * DAY_S) == 0
        assert not await other.claim(request("b").id)
        now[0] += 3650 * DAY_S + 60
        assert not await other.claim(request("b").id)
        assert await store.get(request("a").id) == Completion(text="A")
        assert await store.verify() == []
        assert await store.prune(30 * DAY_S) == 1, "what bears an old date goes, and nothing else"
        assert await store.get(request("a").id) is not None
