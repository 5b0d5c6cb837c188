"""Seconds that many pieces of work may take together."""

from __future__ import annotations

import pytest

from promptpex.core.time_allowance import Allowance


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_pieces_are_added_up_and_each_adds_a_little() -> None:
    clock = Clock()
    allowance = Allowance(10.0, each=1.0, clock=clock)
    for _ in range(3):
        assert not allowance.used_up
        with allowance.piece():
            clock.now += 4.5
    assert allowance.seconds == 13.0
    assert allowance.used_up


def test_the_piece_under_way_counts_and_one_inside_of_it_counts_once() -> None:
    clock = Clock()
    allowance = Allowance(10.0, each=0.0, clock=clock)
    with allowance.piece():
        clock.now += 4
        with allowance.piece():
            clock.now += 4
        assert not allowance.used_up
        clock.now += 2
        assert allowance.used_up
    assert allowance.used_up


def test_a_piece_that_fails_is_counted() -> None:
    clock = Clock()
    allowance = Allowance(1.0, clock=clock)

    def broken() -> None:
        with allowance.piece():
            clock.now += 2
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        broken()
    assert allowance.used_up
