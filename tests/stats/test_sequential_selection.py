"""Stopping when it is decided: places and versus_limit that hold at all looks together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from promptpex.core.errors import InputError
from promptpex.stats import Grid, Losses, looks_at, pair_tests, sequential_selection, suitability, versus_limit
from promptpex.stats.sequential_selection import SequentialSelection, decided_by
from tests.stats.grids import drawn, grid, grid_of


def first(made: Grid, cases: int, asked: Any = None) -> Grid:
    """The first cases, of the models that were asked that far."""
    some = made.only(np.arange(cases))
    inside = np.ones_like(some.broken) if asked is None else asked[:, :cases]
    return Grid(some.models, some.broken * inside, some.kept * inside, some.open, some.weights)


def raced(made: Grid, tolerance: float = 0.05) -> tuple[SequentialSelection, set[tuple[str, str, str | None]], float]:
    """A run that stops models as it goes: the last standing, everything ever claimed, and the share asked."""
    cases = made.broken.shape[1]
    at, alive = looks_at(cases), set(made.models)
    asked = np.zeros_like(made.broken)
    claims: set[tuple[str, str, str | None]] = set()
    tests, before = [], 0
    for end in at:
        for row, name in enumerate(made.models):
            asked[row, before:end] = name in alive
        before = end
        known = first(made, end, asked)
        tests.append(pair_tests(known, tolerance))
        selection = decided_by(tests, Losses.of(known), len(at))
        claims |= {
            (name, one.outcome, one.beaten_by) for name, one in selection.suitability.models.items() if one.claim
        }
        alive -= selection.settled(0.05)
        if not alive:
            break
    return selection, claims, float(asked.mean())


def test_clear_models_stop_early_and_their_places_are_right() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        selection, claims, asked = raced(drawn(rng, [0.05, 0.6], 200))
        assert {("a", "best", None), ("b", "worse", "a")} <= claims <= {
            ("a", "best", None), ("b", "worse", "a"), ("a", "tied", None)
        }  # fmt: skip
        assert asked < 0.5
        assert selection.settled(0.05) == {"a", "b"}


def test_from_the_tests_of_each_look_come_the_same_decisions() -> None:
    made = grid([[0] * 60, [int(n % 9 == 0) for n in range(60)], [n % 2 for n in range(60)]])
    looks = [first(made, end) for end in looks_at(60)]
    tests = [pair_tests(look, 0.05) for look in looks]
    for count in range(1, len(looks) + 1):
        at_once = sequential_selection(looks[:count], len(looks), tolerance=0.05)
        assert decided_by(tests[:count], Losses.of(looks[count - 1]), len(looks)) == at_once


def test_a_place_that_hangs_on_a_model_keeps_it_in() -> None:
    """``c`` is worse than ``a`` at once, but ``b`` has to be shown close to ``c`` as well before ``c`` may stop."""
    made = grid([[0] * 60, [int(n % 2 == 0) for n in range(60)], [int(n % 2 == 1) for n in range(60)]])
    selection = sequential_selection([first(made, 20)], 1, tolerance=0.05)
    assert {name: one.outcome for name, one in selection.suitability.models.items()} == {
        "a": "best",
        "b": "worse",
        "c": "worse",
    }
    close_call = grid([[0] * 60, [int(n < 3) for n in range(60)], [int(n % 2 == 1) for n in range(60)]])
    selection = sequential_selection([first(close_call, 14)], 1, tolerance=0.05)
    assert selection.suitability.models["c"].outcome == "worse"
    assert "c" not in selection.settled(0.05)


def test_over_all_looks_together_no_claim_is_wrong_more_often_than_alpha() -> None:
    rng, rounds = np.random.default_rng(4), 50
    worse = sum(any(place == "worse" for _, place, _ in raced(drawn(rng, [0.1, 0.1], 100))[1]) for _ in range(rounds))
    tied = sum(("b", "tied", None) in raced(drawn(rng, [0.1, 0.2], 100), tolerance=0.1)[1] for _ in range(rounds))
    # 0.05 and two and a half standard errors of so many rounds.
    assert worse <= 6
    assert tied <= 6


@pytest.mark.parametrize(("shares", "rounds"), [((0.3, 0.3), 200), ((0.3, 0.5, 0.3), 60)], ids=["two alike", "one bad"])
def test_over_all_looks_equal_models_are_seldom_called_worse(shares: tuple[float, ...], rounds: int) -> None:
    """Models stop when they are settled: alpha, and two and a half standard errors of so many runs."""
    rng = np.random.default_rng(5)
    rate = dict(zip("abc", shares, strict=False))
    wrong = 0
    for _ in range(rounds):
        claims = raced(drawn(rng, list(shares), 100))[1]
        wrong += any(beaten_by and rate[beaten_by] >= rate[name] for name, _, beaten_by in claims)
    assert wrong <= (0.05 + 2.5 * (0.05 * 0.95 / rounds) ** 0.5) * rounds


def test_close_models_are_decided_nearly_as_often_as_by_one_look() -> None:
    rng, rounds = np.random.default_rng(5), 40
    once = often = 0
    for _ in range(rounds):
        made = drawn(rng, [0.05, 0.05], 200)
        once += all(one.claim for one in suitability(made).models.values())
        often += all(one.claim for one in raced(made)[0].suitability.models.values())
    assert once > 13
    assert often >= once - 0.15 * rounds


def test_early_looks_are_strict() -> None:
    made = grid([[0] * 40, [int(n < 7) for n in range(40)]])
    assert suitability(first(made, 8)).models["b"].outcome == "worse"
    assert sequential_selection([first(made, 8)], 5, tolerance=0.05).suitability.models["b"].outcome == "undecided"
    with pytest.raises(InputError):
        sequential_selection([], 5, tolerance=0.05)


def test_a_limit_is_passed_on_either_side_and_what_is_open_counts_against_it() -> None:
    made = grid([[0] * 100, [n % 2 for n in range(100)], [int(n % 9 == 0) for n in range(100)]])
    looks = [first(made, end) for end in looks_at(100)]
    assert versus_limit(looks, len(looks), 0.1) == {"a": "below", "b": "above", "c": "undecided"}
    waiting = grid_of({"a": {f"c{n}": (0, int(n > 20), int(n <= 20)) for n in range(100)}})
    assert versus_limit([waiting], 1, 0.1) == {"a": "undecided"}
    with pytest.raises(InputError):
        versus_limit(looks, len(looks), 1.5)


def test_a_limit_at_the_truth_is_seldom_passed() -> None:
    rng, rounds = np.random.default_rng(6), 100
    passed = 0
    for _ in range(rounds):
        made = drawn(rng, [0.2], 100)
        looks = [first(made, end) for end in looks_at(100)]
        passed += any(versus_limit(looks[:n], len(looks), 0.2) != {"a": "undecided"} for n in range(1, len(looks) + 1))
    assert passed <= 10
