from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpex.llm.pacing.server_queue import MAX_PAUSE_S, ConcurrencyController


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def rounds(controller: ConcurrencyController, count: int) -> None:
    for _ in range(count):
        for _ in range(controller.allowed):
            controller.answered()


def test_a_refusal_halves_and_each_round_of_answers_adds_one() -> None:
    controller = ConcurrencyController(64, None, Clock())
    controller.refused(0.0, None)
    assert controller.allowed == 32
    rounds(controller, 3)
    assert controller.allowed == 35
    rounds(controller, 100)
    assert controller.allowed == 64


def test_refusals_of_one_round_count_once() -> None:
    clock = Clock()
    controller = ConcurrencyController(64, None, clock)
    clock.now = 10.0
    for _ in range(40):
        controller.refused(9.0, None)
    assert controller.allowed == 32
    clock.now = 12.0
    controller.refused(11.0, None)
    assert controller.allowed == 16


def test_a_refusal_pauses_for_as_long_as_was_asked() -> None:
    clock = Clock()
    controller = ConcurrencyController(8, None, clock)
    clock.now = 5.0
    controller.refused(4.0, 20.0)
    assert controller.not_before == 25.0
    controller.refused(4.5, 30.0)
    assert controller.not_before == 35.0
    assert controller.allowed == 4


def test_pauses_grow_while_refusals_go_on_and_begin_anew_after_an_answer() -> None:
    clock = Clock()
    controller = ConcurrencyController(8, None, clock)
    pauses = []
    for _ in range(10):
        clock.now = max(clock.now, controller.not_before) + 1.0
        controller.refused(clock.now, None)
        pauses.append(controller.not_before - clock.now)
    assert pauses == sorted(pauses)
    assert pauses[-1] == MAX_PAUSE_S
    controller.answered()
    clock.now = controller.not_before + 1.0
    controller.refused(clock.now, None)
    assert controller.not_before - clock.now == pauses[0]


def test_a_machine_that_gains_nothing_stays_low_and_one_that_gains_climbs() -> None:
    def run(parallel: int) -> int:
        clock = Clock()
        controller = ConcurrencyController(32, 1, clock)
        highest = 0
        for _ in range(200):
            clock.now += max(1.0, controller.allowed / parallel)
            rounds(controller, 1)
            highest = max(highest, controller.allowed)
        return highest

    assert run(parallel=1) <= 2
    assert 4 <= run(parallel=4) <= 6


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 100))
def test_it_stays_between_one_and_the_cap(happenings: list[bool], cap: int) -> None:
    clock = Clock()
    controller = ConcurrencyController(cap, None, clock)
    for refused in happenings:
        clock.now += 1.0
        if refused:
            controller.refused(clock.now, None)
        else:
            controller.answered()
        assert 1 <= controller.allowed <= cap
