from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from promptpex.core.records import Problem, collector_paused


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


def test_a_finding_is_one_line_whatever_its_file_is_called() -> None:
    problem = Problem(
        path="a.md: error: none\r\nb\u2028c.md", line=3, message="the file\nx is odd", suggestion="rename it"
    )
    assert problem.text() == "a.md: error: none\ufffdb\ufffdc.md:3: error: the file\ufffdx is odd; rename it"
