"""A kind of server that keeps replies is named in one table, which settings, options and whoever opens it read."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from promptpex.core import store_address
from promptpex.core.store_address import server_at


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
