"""The response store: every reply is committed here before anything else happens with it.

The protocol is ``core.response_store.ResponseStore``; a backend implements it, and a kind of server has its record in
``core.store_address``.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path

from promptpex.core.errors import StoreError
from promptpex.core.response_store import ResponseStore
from promptpex.core.store_address import is_address, server_at
from promptpex.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "open_store"]


async def open_store(location: str, *, make: bool = True) -> ResponseStore:
    """The store at ``location``: the path of an SQLite file, or the address of a server.


    Raises:
        StoreError: it cannot be made or opened.
        ConfigError: the address cannot be used, or what a server needs is not installed.
    """
    if is_address(location):
        opened: ResponseStore = await import_module(server_at(location).home).open_at(location, make=make)
        return opened
    if not make and not await asyncio.to_thread(Path(location).exists):
        raise StoreError(f"{location}: no store here yet; the first run creates it, or name another with --store")
    return await asyncio.to_thread(SqliteStore, location)
