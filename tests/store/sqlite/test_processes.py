"""A store that several processes have open: one that comes and goes takes nothing from the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from promptpex.core.records import Completion
from promptpex.store import SqliteStore
from tests.llm.questions import request

OTHER = """
import asyncio, sys
from promptpex.core.records import Completion
from promptpex.store import SqliteStore
from tests.llm.questions import request

async def main():
    async with SqliteStore(sys.argv[1]) as store:
        print(*[name for name in ("before", "after") if await store.get(request(name).id)])
        await store.put(request("other").id, request("other"), Completion(text="x"))

asyncio.run(main())
"""


def other(path: Path) -> list[str]:
    """Which of two replies another process finds; it stores one of its own and is gone."""
    command = [sys.executable, "-c", OTHER, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


async def test_what_is_stored_after_another_process_left_is_found_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await store.put(request("before").id, request("before"), Completion(text="x"))
        assert other(path) == ["before"]
        await store.put(request("after").id, request("after"), Completion(text="x"))
        assert other(path) == ["before", "after"]
        assert await store.get(request("other").id) is not None
        assert await store.verify() == []


async def test_a_second_store_of_the_same_process_changes_nothing_of_that(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await store.put(request("before").id, request("before"), Completion(text="x"))
        await SqliteStore(path).close()
        assert other(path) == ["before"]
        await store.put(request("after").id, request("after"), Completion(text="x"))
        assert other(path) == ["before", "after"]
