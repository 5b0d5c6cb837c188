"""The conformance test on each backend."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from promptpex.core import store_address
from promptpex.core.response_store import ResponseStore
from promptpex.core.store_address import server_at
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


def test_no_server_is_named_elsewhere() -> None:
    package = Path(store_address.__file__).parents[1]
    places = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "postgresql://" in path.read_text("utf-8") or "PostgreSQL server" in path.read_text("utf-8")
    }
    own = {"core/store_address.py", "core/postgres_address.py"}
    assert {place for place in places if not place.startswith("store/postgres")} <= own


def test_the_home_of_a_server_opens_its_stores() -> None:
    server = server_at("postgresql://host/db")
    assert server_at("postgres://host/db") is server
    assert server.name in store_address.NAMES
    assert callable(import_module(server.home).open_at)
