from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from promptpex.core.errors import MalformedReply, StoreDamaged, StoreError, StoreFull, StoreLocked, StoreReadOnly
from promptpex.core.records import Completion, Message, Request, TokenLogprob
from promptpex.llm.cache import CachedClient
from promptpex.llm.fake import FakeClient
from promptpex.llm.structured import Structured
from promptpex.store import SqliteStore
from promptpex.store.sqlite.store import LOCK_POLL_S
from tests.llm.questions import request


class One(BaseModel):
    verdict: Literal["pass", "fail"]


class Judged(BaseModel):
    verdicts: list[One]


ANSWER = Completion(text="Hà Nội \u2028 \x00", finish_reason="stop", tokens_in=3, cost_usd=0.5, latency_ms=1.5)


async def put(store: SqliteStore, asked: Request, answer: Completion = ANSWER) -> Completion:
    return await store.put(asked.id, asked, answer)


async def test_what_was_put_is_there_also_for_the_next_one_who_opens(tmp_path: Path) -> None:
    asked = request()
    logged = ANSWER.replace(logprobs=(TokenLogprob(token="a", logprob=-0.5, top=(("b", -1.0),)),))
    async with SqliteStore(tmp_path / ".promptpex" / "store.db") as store:
        assert await store.get(asked.id) is None
        assert await put(store, asked, logged.replace(cached=True)) == logged.replace(cached=True)
        assert await store.get(asked.id) == logged
    async with SqliteStore(tmp_path / ".promptpex" / "store.db") as store:
        assert await store.get(asked.id) == logged
        assert await store.get_many([asked.id, "0" * 64]) == {asked.id: logged}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(), answer=st.text())
def test_any_text_comes_back(tmp_path: Path, text: str, answer: str) -> None:
    asyncio.run(_any_text_comes_back(tmp_path / "store.db", text, answer))


async def _any_text_comes_back(path: Path, text: str, answer: str) -> None:
    asked = Request(model="m", messages=(Message(role="user", content=text),))
    completion = Completion(text=answer)
    async with SqliteStore(path, synchronous="normal") as store:
        kept = await put(store, asked, completion)
        assert await store.get(asked.id) == kept
        assert await store.verify() == []


async def test_the_folder_is_kept_out_of_git_and_the_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / ".promptpex" / "store.db"
    async with SqliteStore(path) as store:
        await put(store, request())
        for each in path.parent.glob("store.db*"):
            assert stat.S_IMODE(each.stat().st_mode) == 0o600
    assert (path.parent / ".gitignore").read_text().splitlines()[0] == "*"


async def test_git_takes_the_schemas_and_not_the_store(tmp_path: Path) -> None:
    """Also in a folder that an earlier version made; a file of a person's is left as it is."""
    folder = tmp_path / ".promptpex"
    (folder / "schemas").mkdir(parents=True)
    (folder / "schemas" / "spec.schema.json").write_text("{}")
    (folder / ".gitignore").write_text("*\n")
    await SqliteStore(folder / "store.db").close()
    assert _untracked(tmp_path) == [".promptpex/.gitignore", ".promptpex/schemas/spec.schema.json"]
    (folder / ".gitignore").write_text("mine\n")
    await SqliteStore(folder / "store.db").close()
    assert (folder / ".gitignore").read_text() == "mine\n"


def _untracked(folder: Path) -> list[str]:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    status = ["git", "-C", str(folder), "status", "--porcelain", "-uall"]
    return sorted(subprocess.run(status, check=True, capture_output=True, text=True).stdout.split()[1::2])


async def test_keys_are_not_written(tmp_path: Path) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwx123456"
    async with SqliteStore(tmp_path / "store.db") as store:
        await put(store, request(f'Use "{secret}" please'))
        assert secret not in str([entry async for entry in store.entries()])
        assert await store.verify() == []
    assert secret.encode() not in (tmp_path / "store.db").read_bytes()


async def test_statistics_and_pruning(tmp_path: Path) -> None:
    now = [1000.0]
    async with SqliteStore(tmp_path / "store.db", clock=lambda: now[0]) as store:
        empty = await store.stats()
        assert (empty.replies, empty.oldest, empty.newest) == (0, None, None)
        await put(store, request("old"))
        now[0] = 5000.0
        await put(store, request("new", model="n", stage="judge"))
        stats = await store.stats()
        assert (stats.replies, stats.models, stats.oldest, stats.newest) == (2, {"m": 1, "n": 1}, 1000.0, 5000.0)
        assert stats.stages == {"judge": 1, "output": 1}
        assert stats.bytes > 0
        assert await store.prune(4001.0) == 0
        assert await store.prune(3999.0) == 1
        assert [entry.request.messages[0].content async for entry in store.entries()] == ["new"]


async def test_failed_replies_are_recognised_by_their_stages_reading(tmp_path: Path) -> None:
    """A verdict that is none, deep in the reply, is of no use; what a repair turn put right is, and so is a whole
    reply that ends at the token limit."""
    bad, good = '{"verdicts": [{"verdict": "perhaps"}]}', '{"verdicts": [{"verdict": "pass"}]}'
    answers = {
        "mended": [Completion(text=bad), Completion(text=good)],
        "broken": [Completion(text=bad), Completion(text=bad)],
        "whole": [Completion(text=good, finish_reason="length")],
    }
    async with SqliteStore(tmp_path / "store.db") as store:
        for name, replies in answers.items():
            with contextlib.suppress(MalformedReply):
                await Structured(CachedClient(FakeClient(replies), store)).ask(request(name), Judged)
        assert await store.prune(failed=True) == 2
        assert {entry.request.messages[0].content async for entry in store.entries()} == {"mended", "whole"}
        assert (await Structured(CachedClient(FakeClient([]), store)).ask(request("mended"), Judged)).turns == 2


async def test_verify_names_what_is_wrong(tmp_path: Path) -> None:
    asked = [request(str(number)) for number in range(4)]
    async with SqliteStore(tmp_path / "store.db") as store:
        for each in asked:
            await put(store, each)
        other = sqlite3.connect(tmp_path / "store.db")
        with other:
            other.execute(
                "UPDATE replies SET request = replace(request, '\"1\"', '\"7\"') WHERE id = ?", (asked[1].id,)
            )
            other.execute("UPDATE replies SET completion = '{}' WHERE id = ?", (asked[2].id,))
            other.execute("UPDATE replies SET request = '[' WHERE id = ?", (asked[3].id,))
        other.close()
        problems = {problem.id: problem.what for problem in await store.verify()}
        assert problems == {
            asked[1].id: "its request has another id",
            asked[2].id: "its answer cannot be read",
            asked[3].id: "its request cannot be read",
        }
        with pytest.raises(StoreDamaged, match=asked[2].id):
            await store.get(asked[2].id)


@pytest.mark.parametrize("content", [b"not a database at all, but longer than a header of sqlite" * 40, b"\x00" * 4096])
def test_a_file_that_is_no_store_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"store\.db"):
        SqliteStore(tmp_path / "store.db")
    assert (tmp_path / "store.db").read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "store.db")
    other.execute("CREATE TABLE precious (x)")
    other.close()
    with pytest.raises(StoreDamaged, match="not a promptpex store"):
        SqliteStore(tmp_path / "store.db")
    other = sqlite3.connect(tmp_path / "store.db")
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("precious",)]
    other.close()


async def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "store.db") as store:
        await put(store, request())
    other = sqlite3.connect(tmp_path / "store.db")
    other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(StoreError, match="newer promptpex"):
        SqliteStore(tmp_path / "store.db")


async def test_damage_in_the_middle_of_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    asked = [request(f"{number} " + "x" * 900) for number in range(200)]
    async with SqliteStore(path) as store:
        await asyncio.gather(*(put(store, each) for each in asked))
    raw = bytearray(path.read_bytes())
    raw[8192 : len(raw) - 4096] = b"\xaa" * (len(raw) - 12288)
    path.write_bytes(raw)
    async with SqliteStore(path) as store:
        assert [problem for problem in await store.verify() if problem.id is None]
        with pytest.raises(StoreDamaged, match="damaged"):
            await store.get_many(each.id for each in asked)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root and Windows may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreReadOnly, match="cannot be written"):
        SqliteStore(tmp_path / "store.db")
    tmp_path.chmod(0o700)


async def test_a_store_that_stays_locked_is_named_and_the_reply_is_written_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path, busy_timeout_s=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLocked, match="keeps the store locked"):
        await put(store, request())
    assert await store.get(request().id) is None
    other.execute("ROLLBACK")
    other.close()
    await store.close()
    async with SqliteStore(path) as again:
        assert await again.get(request().id) == ANSWER


async def test_while_a_lock_holds_up_a_read_the_loop_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    holder, reader = (sqlite3.connect(path, isolation_level=None, timeout=0.0) for _ in range(2))
    async with SqliteStore(path) as store:
        holder.execute("BEGIN IMMEDIATE")
        reading = asyncio.create_task(store._read(lambda: reader.execute("BEGIN IMMEDIATE").fetchone()))
        await asyncio.sleep(3 * LOCK_POLL_S)
        assert not reading.done()
        holder.execute("ROLLBACK")
        await reading
    holder.close()
    reader.close()


async def test_a_full_disk_is_named_and_what_was_committed_stays(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await put(store, request("kept"))
    await store._writer.run(lambda connection: connection.execute("PRAGMA max_page_count = 1"))
    with pytest.raises(StoreFull, match="no space"):
        await asyncio.gather(*(put(store, request(f"{number}" + "x" * 5000)) for number in range(50)))
    assert await store.get(request("kept").id) == ANSWER
    assert await store.verify() == []
    await store.close()


async def test_a_write_goes_on_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "store.db") as store:
        task = asyncio.create_task(put(store, request()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with SqliteStore(tmp_path / "store.db") as store:
        assert await store.get(request().id) == ANSWER


KILLED = """
import asyncio, os, signal, sys
from promptpex.llm.cache import CachedClient
from promptpex.llm.fake import FakeClient
from promptpex.llm.structured import Structured
from promptpex.core.records import Completion, Message, Request
from promptpex.store import SqliteStore

async def main():
    store = SqliteStore(sys.argv[1])
    async def one(number):
        asked = Request(model="m", messages=(Message(role="user", content=str(number)),))
        await store.put(asked.id, asked, Completion(text=str(number)))
        os.write(1, f"{number}\\n".encode())
    for start in range(0, 100000, 7):
        await asyncio.gather(*(one(number) for number in range(start, start + 7)))

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [1, 37, 400])
async def test_what_was_committed_survives_sigkill(tmp_path: Path, after: int) -> None:
    path = tmp_path / "store.db"
    committed = _committed_until_killed(path, after)
    async with SqliteStore(path) as store:
        kept = {entry.completion.text async for entry in store.entries()}
        assert await store.verify() == []
    assert set(committed) <= kept


def _committed_until_killed(path: Path, after: int) -> list[str]:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    committed = [process.stdout.readline().strip() for _ in range(after)]
    process.kill()
    committed += [line.strip() for line in process.stdout if line.endswith("\n")]
    process.wait()
    process.stdout.close()
    return committed
