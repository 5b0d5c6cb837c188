from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpex.llm.windows import Window


@given(
    limit=st.integers(1, 50),
    asked=st.lists(st.tuples(st.floats(0, 20), st.integers(1, 30)), max_size=60),
)
def test_no_window_ever_holds_more_than_its_limit(limit: int, asked: list[tuple[float, int]]) -> None:
    window, now, sent = Window(limit, 60.0), 0.0, list[tuple[float, int]]()
    for pause, amount in asked:
        now += pause
        now += max(0.0, window.wait_s(now, amount)) + 1e-6
        while (wait := window.wait_s(now, amount)) > 0:
            now += wait + 1e-6
        window.add(now, amount)
        sent.append((now, amount))
    for at, amount in sent:
        within = [each for since, each in sent if at - 60.0 < since <= at]
        assert sum(within) <= limit or within == [amount]


def test_without_a_limit_nothing_waits() -> None:
    window = Window(None, 60.0)
    window.add(0.0, 10**9)
    assert window.wait_s(0.0, 10**9) == 0.0


def test_the_true_amount_replaces_the_guess() -> None:
    window = Window(100, 60.0)
    window.add(0.0, 90)
    assert window.wait_s(1.0, 20) == 59.0
    window.correct(0.0, -40)
    assert window.wait_s(1.0, 20) == 0.0
    window.correct(0.0, 60)
    assert window.wait_s(1.0, 20) > 0.0
    assert window.wait_s(61.0, 20) == 0.0
