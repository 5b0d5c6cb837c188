from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpex.llm.pacing.aimd import MAX_PAUSE_S, ConcurrencyController

KIND = ("m", "output")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def rounds(controller: ConcurrencyController, count: int, latency_s: float) -> None:
    for _ in range(count):
        for _ in range(controller.allowed):
            controller.answered(latency_s, KIND)


def test_it_starts_at_the_cap_unless_told_otherwise() -> None:
    assert ConcurrencyController(64, None, Clock()).allowed == 64
    assert ConcurrencyController(64, 2, Clock()).allowed == 2
    assert ConcurrencyController(1, 2, Clock()).allowed == 1


def test_a_refusal_halves_and_each_round_of_answers_adds_one() -> None:
    controller = ConcurrencyController(64, None, Clock())
    controller.refused(0.0, None)
    assert controller.allowed == 32
    rounds(controller, 3, 1.0)
    assert controller.allowed == 35
    rounds(controller, 100, 1.0)
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
    controller.answered(1.0, KIND)
    clock.now = controller.not_before + 1.0
    controller.refused(clock.now, None)
    assert controller.not_before - clock.now == pauses[0]


def test_strongly_rising_latency_halves_once_and_a_new_level_is_accepted() -> None:
    controller = ConcurrencyController(16, None, Clock())
    rounds(controller, 5, 1.0)
    assert controller.allowed == 16
    rounds(controller, 1, 8.0)
    assert controller.allowed == 8
    rounds(controller, 20, 8.0)
    assert controller.allowed == 16


def test_answers_of_different_length_are_no_rise() -> None:
    controller = ConcurrencyController(16, None, Clock())
    for _ in range(50):
        for number in range(controller.allowed):
            controller.answered(0.2 if number % 3 else 6.0, KIND)
    assert controller.allowed == 16


def test_a_slow_stage_beside_a_fast_one_is_no_rise() -> None:
    controller = ConcurrencyController(16, None, Clock())
    rounds(controller, 3, 0.1)
    for _ in range(160):
        controller.answered(10.0, ("m", "judge"))
    assert controller.allowed == 16


def test_a_machine_that_gains_nothing_stays_low_and_one_that_gains_climbs() -> None:
    def run(parallel: int) -> int:
        clock = Clock()
        controller = ConcurrencyController(32, 1, clock)
        highest = 0
        for _ in range(200):
            clock.now += max(1.0, controller.allowed / parallel)
            rounds(controller, 1, 1.0)
            highest = max(highest, controller.allowed)
        return highest

    assert run(parallel=1) <= 2
    assert 4 <= run(parallel=4) <= 6


@given(st.lists(st.one_of(st.floats(0, 100), st.none()), max_size=200), st.integers(1, 100))
def test_it_stays_between_one_and_the_cap(happenings: list[float | None], cap: int) -> None:
    clock = Clock()
    controller = ConcurrencyController(cap, None, clock)
    for each in happenings:
        clock.now += 1.0
        if each is None:
            controller.refused(clock.now, None)
        else:
            controller.answered(each, KIND)
        assert 1 <= controller.allowed <= cap
