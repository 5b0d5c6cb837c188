"""Implications: closed, pruned by examples and by FFR, and large ones in time."""

from __future__ import annotations

import random

from promptpex.synthesis.selection.problem import all_implied_by, sources


def test_sources_imply_everything_and_none_implies_another() -> None:
    dice = random.Random(5)
    for _ in range(150):
        count = dice.randrange(1, 9)
        pairs = [(dice.randrange(count), dice.randrange(count)) for _ in range(dice.randrange(12))]
        implied = all_implied_by(count, pairs)
        kept = sources(range(count), implied)
        assert all(any(one == other or implied[one] >> other & 1 for one in kept) for other in range(count))
        assert not [(one, other) for one in kept for other in kept if one != other and implied[one] >> other & 1]


def test_a_chain_of_thousands_is_closed_without_recursion() -> None:
    count = 3000
    implied = all_implied_by(count, [(number, number + 1) for number in range(count - 1)])
    assert implied[0].bit_count() == count - 1
    assert sources(range(count), implied) == [0]
