"""The measure of work tells what grows in proportion from what grows with the square."""

from __future__ import annotations

from tests.work import in_proportion


def linear(amount: int) -> int:
    return sum(number % 7 for number in range(amount))


def test_work_in_proportion_passes() -> None:
    assert in_proportion(linear, 20_000, 160_000)


def test_work_that_takes_the_square_fails() -> None:
    assert not in_proportion(lambda amount: linear(amount * amount), 100, 800)


def test_a_disturbed_measurement_is_repeated() -> None:
    """As if another process had taken the processor's caches during the first of the long ones."""
    long_ones = []

    def disturbed(amount: int) -> None:
        linear(amount)
        if amount == 160_000:
            long_ones.append(amount)
            linear(40 * amount if len(long_ones) == 1 else 0)

    assert in_proportion(disturbed, 20_000, 160_000)
    assert len(long_ones) == 2
