"""The response store: every reply is committed here before anything else happens with it.

The protocol is ``core.response_store.ResponseStore``; a backend implements it and gets a line in ``open_store``.
"""

from __future__ import annotations

import asyncio

from promptpex.core.response_store import ResponseStore
from promptpex.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "open_store"]


async def open_store(location: str) -> ResponseStore:
    """The store at ``location``: the path of an SQLite file.

    Raises:
        StoreError: it cannot be made or opened.
    """
    return await asyncio.to_thread(SqliteStore, location)
