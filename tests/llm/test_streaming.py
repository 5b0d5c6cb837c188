"""Watched requests in all their wrappers: queued, retried, paid for, stored and recorded as any other."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from promptpex.core.errors import Unavailable
from promptpex.core.records import Message, ModelName
from promptpex.core.stage_templates import Rendered
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.providers.router import Router
from promptpex.llm.stack import Stack, StackOptions, build
from promptpex.llm.streaming import ListWatcher, watcher, watching
from promptpex.llm.structured import Structured
from promptpex.store import open_store
from tests.stream_server import CUT, END, Part, StreamServer

LIST_THEM = Rendered("test", (Message(role="user", content="List them."),), "0")
ITEMS = [{"a": 1}, {"a": 2}, {"a": 3}]
PIECES = ['{"items": [{"a": 1}, {"a"', ": 2}, {", '"a": 3}]}']


class Items(BaseModel):
    items: list[dict[str, int]]


class Heard(list[Sequence[Mapping[str, Any]]]):
    """What was told, in order."""

    def __call__(self, objects: Sequence[Mapping[str, Any]]) -> None:
        self.append(list(objects))


@asynccontextmanager
async def _stack(path: Path, **options: Any) -> AsyncIterator[Stack]:
    async def no_wait(seconds: float) -> None: ...

    store = await open_store(str(path / "store.db"))
    stack = build(
        Router(), store=store, rng=random.Random(1), clock=lambda: 0.0, sleep=no_wait, options=StackOptions(**options)
    )
    try:
        yield stack
    finally:
        await stack.close()
        await store.close()


async def _asked(stack: Stack, url: str, heard: Heard | None = None) -> list[dict[str, int]]:
    author = RoleModel(Structured(stack), ModelName(name="openai/any", label="openai/any", api_base=url))
    reply = await author.ask(LIST_THEM, Items, stage="candidates", arriving=heard)
    return reply.value.items


async def test_a_watched_reply_is_stored_under_the_same_id_and_not_asked_for_again(tmp_path: Path) -> None:
    heard, again = Heard(), Heard()
    async with StreamServer([[*PIECES, *END]]) as server, _stack(tmp_path) as stack:
        assert await _asked(stack, server.url, heard) == ITEMS
        assert await _asked(stack, server.url) == ITEMS
        assert await _asked(stack, server.url, again) == ITEMS
        assert (len(server.bodies), server.bodies[0]["stream"]) == (1, True)
        total = stack.meter.total
        assert (total.requests, total.cached, total.tokens_in, total.tokens_out) == (1, 2, 20, 5)
    assert heard == [ITEMS[:1], ITEMS[:2], ITEMS]
    assert again == [], "what is stored comes as a whole"


async def test_what_was_told_of_a_stream_that_broke_off_is_taken_back(tmp_path: Path) -> None:
    heard = Heard()
    replies: list[list[Part]] = [[PIECES[0], PIECES[1], CUT], ['{"items": [{"a": 3}', "]}", *END]]
    async with StreamServer(replies) as server, _stack(tmp_path, max_requests=1) as stack:
        assert await _asked(stack, server.url, heard) == [{"a": 3}]
        assert (len(server.bodies), stack.budget.spent.requests, stack.budget.spent.tokens) == (2, 1, 25)
    assert heard == [ITEMS[:1], ITEMS[:2], [], [{"a": 3}]]


async def test_a_stream_that_never_ends_well_is_no_reply_and_is_not_stored(tmp_path: Path) -> None:
    async with StreamServer([[PIECES[0], CUT]]) as server, _stack(tmp_path, max_attempts=2) as stack:
        with pytest.raises(Unavailable):
            await _asked(stack, server.url, Heard())
        assert stack.meter.total.failed == 1
    async with StreamServer([[*PIECES, *END]]) as server, _stack(tmp_path) as stack:
        assert await _asked(stack, server.url) == ITEMS
        assert stack.meter.total.cached == 0


async def test_a_watched_run_leaves_the_same_recording(tmp_path: Path) -> None:
    lines = []
    async with StreamServer([[*PIECES, *END]]) as server:
        for name, heard in (("watched", Heard()), ("not", None)):
            (tmp_path / name).mkdir()
            file = tmp_path / name / "recording.jsonl"
            async with _stack(tmp_path / name, record=file) as stack:
                await _asked(stack, server.url, heard)
            line = json.loads(file.read_text())
            del line["completion"]["latency_ms"]
            lines.append(line)
    assert lines[0] == lines[1]


async def test_keys_of_this_machine_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTPEX_API_KEY", "odd+planted/key=1")
    heard = Heard()
    watched = ListWatcher(heard)
    for piece in ['[{"a": "so odd+plan', 'ted\\/key=1", "b": ["odd\\u002bplanted/key=1"]', "}, "]:
        watched.add(piece)
    assert heard == [[{"a": "so [hidden]", "b": ["[hidden]"]}]]


async def test_a_client_that_cannot_stream_is_not_disturbed_and_nobody_watches_afterwards() -> None:
    heard = Heard()
    author = RoleModel(Structured(FakeClient(["".join(PIECES)])), ModelName(name="fake/x", label="fake/x"))
    reply = await author.ask(LIST_THEM, Items, stage="candidates", arriving=heard)
    assert (reply.value.items, heard, watcher()) == (ITEMS, [], None)


async def test_what_a_watcher_sets_going_is_not_watched() -> None:
    seen: list[object] = []

    async def other() -> None:
        seen.append(watcher())

    watched = ListWatcher(lambda objects: seen.append(asyncio.ensure_future(other())))
    with watching(watched):
        assert watcher() is watched
        watched.add('[{"a": 1}')
        (task,) = seen
        assert isinstance(task, asyncio.Task)
        await task
    assert seen[1:] == [None]
