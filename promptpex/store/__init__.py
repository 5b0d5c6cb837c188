"""The response store: every reply is committed here before anything else happens with it.

The protocol is ``core.response_store.ResponseStore``; a backend implements it, and a kind of server has its record in
``core.store_address``.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path

from promptpex.core.errors import StoreError
from promptpex.core.events import Listener, ignore_events
from promptpex.core.response_store import ResponseStore
from promptpex.core.store_address import is_address, server_at
from promptpex.store.project_folder import SPOOL
from promptpex.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "open_store"]


async def open_store(
    location: str, *, make: bool = True, spool: Path | str | None = None, emit: Listener = ignore_events
) -> ResponseStore:
    """The store at ``location``: the path of an SQLite file, or the address of a server.

    Args:
        make: whether a store that is not there is made.
        spool: the folder for replies that a server could not take; by default that of the working folder.
        emit: is told when a server goes away and comes back.

    Raises:
        StoreError: it cannot be made or opened.
        ConfigError: the address cannot be used, or what a server needs is not installed.
    """
    if is_address(location):
        home = import_module(server_at(location).home)
        opened: ResponseStore = await home.open_at(
            location, spool=Path(spool if spool is not None else SPOOL), make=make, emit=emit
        )
        return opened
    if not make and not await asyncio.to_thread(Path(location).exists):
        raise StoreError(f"{location}: no store here yet; the first run creates it, or name another with --store")
    return await asyncio.to_thread(SqliteStore, location)
