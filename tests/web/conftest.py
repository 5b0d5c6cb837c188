"""A browser for the tests of the local page: one process for all of them, a connection for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.web.browser import PROGRAM, Browser, chromium


@pytest.fixture(scope="session")
def chromium_address() -> Iterator[str]:
    """Where a running Chromium can be driven."""
    if PROGRAM is None:
        pytest.skip("there is no chromium to drive")
    with chromium() as address:
        yield address


@pytest.fixture
async def browser(chromium_address: str) -> AsyncIterator[Browser]:
    """A browser whose pages are closed after the test."""
    async with Browser.connected(chromium_address) as connected:
        yield connected
