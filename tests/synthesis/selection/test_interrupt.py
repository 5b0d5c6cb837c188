"""Ctrl-C ends a search that is inside the solver."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator

import pytest

from promptpex.synthesis.selection.solver import Program

HOUR = 3600.0


@pytest.fixture
def _heeded() -> Iterator[None]:
    """Has Ctrl-C raise ``KeyboardInterrupt``, which it does not where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("_heeded")
def test_ctrl_c_ends_a_search_long_before_its_time() -> None:
    dice = random.Random(1)
    program = Program(600, 600)
    for _ in range(900):
        program.add(dice.sample(range(600), 12), [1] * 12, least=1)
    alarm = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        program.minimised([1] * 600, [], HOUR)
    alarm.join()
    for thread in threading.enumerate():
        if "search" in thread.name:
            thread.join()
