"""The conformance test on each backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.response_store import ResponseStore
from promptpex.store import SqliteStore
from tests.store.conformance import Clock, Conformance
from tests.store.memory import Memory, MemoryStore


class TestSqlite(Conformance):
    def make(self, folder: Path, clock: Clock) -> ResponseStore:
        return SqliteStore(folder / "store.db", clock=clock)


class TestMemory(Conformance):
    @pytest.fixture(autouse=True)
    def memory(self) -> None:
        self._memory = Memory()

    def make(self, folder: Path, clock: Clock) -> ResponseStore:
        return MemoryStore(self._memory, clock)
