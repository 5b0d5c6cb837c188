from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpex.llm.pacing.aimd import LONGEST_PAUSE_S, Pace

KIND = ("m", "output")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def rounds(pace: Pace, count: int, latency_s: float) -> None:
    for _ in range(count):
        for _ in range(pace.allowed):
            pace.answered(latency_s, KIND)


def test_it_starts_at_the_cap_unless_told_otherwise() -> None:
    assert Pace(64, None, Clock()).allowed == 64
    assert Pace(64, 2, Clock()).allowed == 2
    assert Pace(1, 2, Clock()).allowed == 1


def test_a_refusal_halves_and_each_round_of_answers_adds_one() -> None:
    pace = Pace(64, None, Clock())
    pace.refused(0.0, None)
    assert pace.allowed == 32
    rounds(pace, 3, 1.0)
    assert pace.allowed == 35
    rounds(pace, 100, 1.0)
    assert pace.allowed == 64


def test_refusals_of_one_round_count_once() -> None:
    clock = Clock()
    pace = Pace(64, None, clock)
    clock.now = 10.0
    for _ in range(40):
        pace.refused(9.0, None)
    assert pace.allowed == 32
    clock.now = 12.0
    pace.refused(11.0, None)
    assert pace.allowed == 16


def test_a_refusal_pauses_for_as_long_as_was_asked() -> None:
    clock = Clock()
    pace = Pace(8, None, clock)
    clock.now = 5.0
    pace.refused(4.0, 20.0)
    assert pace.not_before == 25.0
    pace.refused(4.5, 30.0)
    assert pace.not_before == 35.0
    assert pace.allowed == 4


def test_pauses_grow_while_refusals_go_on_and_begin_anew_after_an_answer() -> None:
    clock = Clock()
    pace = Pace(8, None, clock)
    pauses = []
    for _ in range(10):
        clock.now = max(clock.now, pace.not_before) + 1.0
        pace.refused(clock.now, None)
        pauses.append(pace.not_before - clock.now)
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE_S
    pace.answered(1.0, KIND)
    clock.now = pace.not_before + 1.0
    pace.refused(clock.now, None)
    assert pace.not_before - clock.now == pauses[0]


def test_strongly_rising_latency_halves_once_and_a_new_level_is_accepted() -> None:
    pace = Pace(16, None, Clock())
    rounds(pace, 5, 1.0)
    assert pace.allowed == 16
    rounds(pace, 1, 8.0)
    assert pace.allowed == 8
    rounds(pace, 20, 8.0)
    assert pace.allowed == 16


def test_answers_of_different_length_are_no_rise() -> None:
    pace = Pace(16, None, Clock())
    for _ in range(50):
        for number in range(pace.allowed):
            pace.answered(0.2 if number % 3 else 6.0, KIND)
    assert pace.allowed == 16


def test_a_slow_stage_beside_a_fast_one_is_no_rise() -> None:
    pace = Pace(16, None, Clock())
    rounds(pace, 3, 0.1)
    for _ in range(160):
        pace.answered(10.0, ("m", "judge"))
    assert pace.allowed == 16


def test_a_machine_that_gains_nothing_stays_low_and_one_that_gains_climbs() -> None:
    def run(parallel: int) -> int:
        clock = Clock()
        pace = Pace(32, 1, clock)
        highest = 0
        for _ in range(200):
            clock.now += max(1.0, pace.allowed / parallel)
            rounds(pace, 1, 1.0)
            highest = max(highest, pace.allowed)
        return highest

    assert run(parallel=1) <= 2
    assert 4 <= run(parallel=4) <= 6


@given(st.lists(st.one_of(st.floats(0, 100), st.none()), max_size=200), st.integers(1, 100))
def test_it_stays_between_one_and_the_cap(happenings: list[float | None], cap: int) -> None:
    clock = Clock()
    pace = Pace(cap, None, clock)
    for each in happenings:
        clock.now += 1.0
        if each is None:
            pace.refused(clock.now, None)
        else:
            pace.answered(each, KIND)
        assert 1 <= pace.allowed <= cap
