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


@pytest.mark.parametrize("on", [True, False])
def test_an_error_leaves_it_as_before(on: bool) -> None:
    (gc.enable if on else gc.disable)()
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled() is on


def test_as_a_decorator_it_works_for_every_call() -> None:
    @collector_paused()
    def is_on() -> bool:
        return gc.isenabled()

    assert [is_on(), gc.isenabled(), is_on(), gc.isenabled()] == [False, True, False, True]
