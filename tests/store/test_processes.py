"""A store that several processes have open: one that comes and goes takes nothing from the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from promptpex.core.records import Completion
from promptpex.store import ReplyStore
from tests.llm.questions import request

OTHER = """
import asyncio, sys
from promptpex.core.records import Completion
from promptpex.store import ReplyStore
from tests.llm.questions import request
with ReplyStore(sys.argv[1]) as store:
    print(*(name for name in ("before", "after") if store.get(request(name).id)))
    asyncio.run(store.put(request("other").id, request("other"), Completion(text="x")))
"""


def other(path: Path) -> list[str]:
    """Which of two replies another process finds; it stores one of its own and is gone."""
    command = [sys.executable, "-c", OTHER, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


async def test_what_is_stored_after_another_process_left_is_found_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ReplyStore(path) as store:
        await store.put(request("before").id, request("before"), Completion(text="x"))
        assert other(path) == ["before"]
        await store.put(request("after").id, request("after"), Completion(text="x"))
        assert other(path) == ["before", "after"]
        assert store.get(request("other").id) is not None
        assert store.verify() == []


async def test_a_second_store_of_the_same_process_changes_nothing_of_that(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with ReplyStore(path) as store:
        await store.put(request("before").id, request("before"), Completion(text="x"))
        ReplyStore(path).close()
        assert other(path) == ["before"]
        await store.put(request("after").id, request("after"), Completion(text="x"))
        assert other(path) == ["before", "after"]
