from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpex.llm.pacing.server_queue import Charge, SlidingWindow


def test_the_true_amount_replaces_what_was_set_aside() -> None:
    window = SlidingWindow(100)
    spent = window.add(0.0, 90)
    assert window.wait_s(1.0, 20) == 59.0
    window.correct(spent, 50, 1.0)
    assert window.wait_s(1.0, 20) == 0.0
    window.correct(spent, 110, 1.0)
    assert window.wait_s(1.0, 20) > 0.0
    assert window.wait_s(61.0, 20) == 0.0
    window.correct(spent, 170, 62.0)
    assert window.wait_s(63.0, 50) == 59.0


@given(
    limit=st.integers(10, 50),
    asked=st.lists(st.tuples(st.floats(0, 20), st.integers(1, 10), st.integers(0, 10), st.floats(0, 90)), max_size=40),
)
def test_corrected_windows_hold_no_more_than_their_limit(
    limit: int, asked: list[tuple[float, int, int, float]]
) -> None:
    """Whatever came of what was set aside, and whenever that was known."""
    window, now = SlidingWindow(limit), 0.0
    sent: list[tuple[float, int]] = []
    pending: list[tuple[float, Charge, int]] = []

    def settle(until: float) -> None:
        for entry in sorted((each for each in pending if each[0] <= until), key=lambda each: each[0]):
            pending.remove(entry)
            window.correct(entry[1], entry[2], entry[0])

    for pause, reserved, less, took in asked:
        now += pause
        settle(now)
        while (wait := window.wait_s(now, reserved)) > 0:
            now += wait + 1e-6
            settle(now)
        true = max(0, reserved - less)
        pending.append((now + took, window.add(now, reserved), true))
        sent.append((now, true))
    for at, _ in sent:
        assert sum(each for since, each in sent if at - 60.0 < since <= at) <= limit
