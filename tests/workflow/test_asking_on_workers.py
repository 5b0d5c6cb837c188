"""What travels to a worker, and what it opens there."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from promptpex.config import load
from promptpex.core.errors import ConfigError
from promptpex.core.events import Event, Listener
from promptpex.core.records import Completion, Message, Request
from promptpex.engines.links import Service, packed, unpacked
from promptpex.llm.fake import FakeClient
from promptpex.llm.remote.worker import AskingService
from promptpex.llm.stack import Stack, build
from promptpex.store import SqliteStore
from promptpex.workflow.client_options import provider_options, stack_options
from promptpex.workflow.execution.asking_on_workers import WorkerClientFactory, asking_on_workers
from tests.llm.remote.in_process import TaskLink, Tasks
from tests.servers import ScriptedServer, Step, error_body

KEY = "sk-a-key-that-must-not-travel-0123456789"


class Posted(TaskLink):
    """A link to a service that was pickled, which keeps all bytes that travel."""

    def __init__(self, service: Service, delay_s: float) -> None:
        self.bytes = [packed([service])]
        (there,) = unpacked(self.bytes[0])
        assert isinstance(there, type(service))
        super().__init__(there, delay_s)

    def send(self, message: object, *, soon: bool = False) -> None:
        self.bytes.append(packed([message]))
        super().send(message, soon=soon)

    async def receive(self) -> Sequence[object]:
        messages = await super().receive()
        self.bytes.append(packed(messages))
        return messages


class Post(Tasks):
    """A carrier of services that were pickled."""

    async def start(self, service: Service) -> TaskLink:
        self.links.append(Posted(service, self.delay_s))
        return self.links[-1]

    @property
    def bytes(self) -> bytes:
        """All that travelled."""
        return b"".join(batch for link in self.links if isinstance(link, Posted) for batch in link.bytes)


def question(number: int, server: ScriptedServer) -> Request:
    messages = (Message(role="user", content=f"question {number}"),)
    return Request(model="openai/m", messages=messages, api_base=f"{server.url}/v1")


def session(carrier: Post, store: SqliteStore, server: ScriptedServer, emit: Listener = lambda event: None) -> Stack:
    """The client of a session on two workers, whose server is named by the user."""
    resolved = load(
        {"store": str(store.path), "workers": 2, "api_base": f"{server.url}/v1"}, start=store.path.parent, env={}
    )
    options = provider_options(resolved, emit)
    return build(
        FakeClient(lambda request: "not here"),
        store=store,
        emit=emit,
        rng=random.Random(0),
        clock=time.monotonic,
        options=stack_options(resolved.settings),
        remote=asking_on_workers(carrier, resolved.settings, options),
    )


async def test_keys_do_not_travel(tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTPEX_API_KEY", KEY)
    scripted.steps = [Step(error_body(f"{KEY} is no key"), status=401)]
    carrier, heard = Post(), list[Event]()
    async with SqliteStore(tmp_path / "store.db") as store:
        client = session(carrier, store, scripted, heard.append)
        outcomes = await asyncio.gather(
            *(client.complete(question(n, scripted)) for n in range(3)), return_exceptions=True
        )
        await client.close()
    assert scripted.requests[0].headers["Authorization"] == f"Bearer {KEY}", "the worker has it from its environment"
    assert all(isinstance(outcome, Exception) for outcome in outcomes)
    assert b"question 1" in carrier.bytes
    assert KEY.encode() not in carrier.bytes
    assert KEY not in json.dumps([event.to_dict() for event in heard]) + "".join(map(str, outcomes))


async def test_what_workers_store_is_the_sessions(tmp_path: Path, scripted: ScriptedServer) -> None:
    carrier = Post()
    async with SqliteStore(tmp_path / "store.db") as store:
        for _ in range(2):
            client = session(carrier, store, scripted)
            answers = await asyncio.gather(*(client.complete(question(n, scripted)) for n in range(20)))
            await client.close()
        stored = await store.get_many(question(n, scripted).id for n in range(20))
    assert scripted.count == 20
    assert all(answer.cached for answer in answers)
    assert [stored[question(n, scripted).id] for n in range(20)] == [
        answer.model_copy(update={"cached": False}) for answer in answers
    ]
    assert all(isinstance(answer, Completion) for answer in answers)


async def test_a_file_on_another_machine_is_refused_in_one_sentence(tmp_path: Path, scripted: ScriptedServer) -> None:
    class Elsewhere(Post):
        async def start(self, service: Service) -> TaskLink:
            assert isinstance(service, AskingService)
            assert isinstance(service.open, WorkerClientFactory)
            return await super().start(replace(service, open=replace(service.open, host="laptop pid:[1]")))

    async with SqliteStore(tmp_path / "store.db") as store:
        client = session(Elsewhere(), store, scripted)
        with pytest.raises(ConfigError) as refused:
            await client.complete(question(0, scripted))
        await client.close()
    assert "store.db is a file on the machine of the run, and a worker runs on another" in str(refused.value)
    assert "--store postgresql://..." in str(refused.value)
    assert scripted.count == 0
