"""The conformance test on each backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.response_store import ResponseStore
from promptpex.store import SqliteStore
from promptpex.store.postgres import open_at
from tests.postgres import Cluster
from tests.store.conformance import Clock, Conformance
from tests.store.memory import Memory, MemoryStore


class TestSqlite(Conformance):
    async def make(self, folder: Path, clock: Clock) -> ResponseStore:
        return SqliteStore(folder / "store.db", clock=clock)


class TestPostgres(Conformance):
    @pytest.fixture(autouse=True)
    def address(self, postgres: Cluster) -> None:
        self._address = postgres.address()

    async def make(self, folder: Path, clock: Clock) -> ResponseStore:
        return await open_at(self._address, clock=clock)


class TestMemory(Conformance):
    @pytest.fixture(autouse=True)
    def memory(self) -> None:
        self._memory = Memory()

    async def make(self, folder: Path, clock: Clock) -> ResponseStore:
        return MemoryStore(self._memory, clock)
