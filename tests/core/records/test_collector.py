from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from promptpex.core.records import collector_paused


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_off_inside_and_afterwards_as_before(on: bool) -> None:
    (gc.enable if on else gc.disable)()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is on
