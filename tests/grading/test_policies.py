"""Policies: EvalGen's formulas as they are meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.core.records import Example, output_key
from promptpex.grading.book import WHOLE, Subject
from promptpex.grading.desk import GradingDesk
from promptpex.grading.next_item import (
    DEFAULT_POLICY,
    POLICIES,
    Chances,
    GradingProgress,
    Opinion,
    Surroundings,
    confidence,
    draw_next,
    mixture,
    probabilities,
    selectivity,
    sigmas,
)
from promptpex.grading.random_sample import RANDOM, RANDOM_SHARE, in_order, next_turn

Status = Literal["pass", "fail", "none"]
Source = Literal["check", "judge", "candidate"]


def _says(assertion: str, status: Status, subject: str = "r1", source: Source = "candidate") -> Opinion:
    return Opinion(assertion, subject, source, "judge" if source == "judge" else "", status)


OPINIONS = {
    "a": (_says("f", "pass"), _says("g", "pass")),
    "b": (_says("f", "fail"), _says("g", "pass")),
    "c": (_says("f", "pass"), _says("g", "fail")),
    "d": (_says("f", "pass"), _says("g", "fail")),
    "e": (_says("f", "fail"), _says("g", "none")),
}


def test_selectivity_is_the_pass_rate_of_what_an_assertion_says_something_of() -> None:
    assert selectivity(OPINIONS) == {("r1", "f"): 3 / 5, ("r1", "g"): 2 / 4}


def test_confidence_sums_the_selectivity_of_what_fails_an_item() -> None:
    selective = selectivity(OPINIONS)
    assert {key: confidence(each, selective) for key, each in OPINIONS.items()} == {
        "a": 0,
        "b": 3 / 5,
        "c": 2 / 4,
        "d": 2 / 4,
        "e": 3 / 5,
    }


def test_highest_lowest_and_alternating_go_by_confidence_and_share_ties() -> None:
    around = Surroundings(sigmas(OPINIONS))
    assert probabilities("highest", "abcde", around) == {"a": 0, "b": 0.5, "c": 0, "d": 0, "e": 0.5}
    assert probabilities("lowest", "abcde", around)["a"] == 1
    assert probabilities("lowest", "bcd", around) == {"b": 0, "c": 0.5, "d": 0.5}
    for step, same in ((0, "highest"), (1, "lowest"), (2, "highest")):
        at_step = Surroundings(sigmas(OPINIONS), step)
        assert probabilities("alternating", "abcde", at_step) == probabilities(same, "abcde", at_step)


def test_graded_items_count_for_selectivity() -> None:
    """An assertion that fails every open item and passed the graded ones is telling."""
    opinions = {"old": (_says("f", "pass"),), "x": (_says("f", "fail"),), "y": (_says("g", "fail"),)}
    assert probabilities("highest", "xy", Surroundings(sigmas(opinions))) == {"x": 1, "y": 0}


@pytest.mark.parametrize("policy", POLICIES)
def test_without_opinions_the_first_choices_are_random(policy: str) -> None:
    assert set(probabilities(policy, "abcd", Surroundings()).values()) == {0.25}


def test_an_unknown_policy_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no policy is called 'lowes': there are alternating.*mean 'lowest'"):
        probabilities("lowes", "ab", Surroundings())


statuses = st.sampled_from(["pass", "fail", "none"])
opinions = st.builds(
    Opinion,
    assertion=st.sampled_from("fgh"),
    subject=st.sampled_from(["r1", "r2"]),
    source=st.sampled_from(["check", "judge", "candidate"]),
    status=statuses,
)
pools = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.lists(opinions, max_size=4), min_size=1)


def _mixture(progress: GradingProgress, around: Surroundings, policy: str, share: float) -> Chances:
    turn = next_turn(progress.order, progress.graded, progress.reached)
    return mixture(progress, turn, probabilities(policy, progress.open, around), 1 if policy == RANDOM else share)


@given(pools, st.sampled_from(list(POLICIES)), st.integers(0, 50), st.floats(0, 1), st.data())
def test_probabilities_sum_to_one_and_the_choice_has_the_one_it_says(
    pool: dict[str, list[Opinion]], policy: str, step: int, share: float, data: st.DataObject
) -> None:
    keys = sorted(pool)
    graded = data.draw(st.sets(st.sampled_from(keys), max_size=len(keys) - 1))
    reached = data.draw(st.sets(st.sampled_from(keys)))
    progress = GradingProgress(in_order(keys), graded, reached)
    around = Surroundings(sigmas(pool), step)
    chances = _mixture(progress, around, policy, share)
    assert set(chances) == set(progress.open)
    assert sum(chances.values()) == pytest.approx(1)
    assert min(chances.values()) >= 0
    choice = draw_next(progress, around, policy, share=share)
    assert choice.probability == chances[choice.item] > 0


def test_the_recorded_probability_is_how_often_it_comes_out() -> None:
    """Numbers left to chance: over 4,000 seeds each item is chosen as often as the mixture says."""
    pool = {"a": [_says("f", "fail")], "b": [_says("f", "pass")], "c": [_says("f", "pass")], "d": [_says("f", "pass")]}
    around = Surroundings(sigmas(pool))
    counts = dict.fromkeys("abcd", 0)
    for seed in range(4_000):
        choice = draw_next(GradingProgress(in_order(pool, seed)), around, "highest", seed=seed)
        counts[choice.item] += 1
    expected = _mixture(GradingProgress(in_order(pool)), around, "highest", RANDOM_SHARE)
    assert expected["a"] == pytest.approx(2 / 3 + RANDOM_SHARE / 4)
    assert {key: count / 4_000 for key, count in counts.items()} == pytest.approx(expected, abs=0.03)


def test_a_turn_used_up_by_a_graded_item_goes_to_the_policy_and_says_so() -> None:
    order = in_order("abcd")
    around = next(
        Surroundings(step=step)
        for step in range(50)
        if draw_next(GradingProgress(order), Surroundings(step=step)).policy == "random"
    )
    choice = draw_next(GradingProgress(order, {order[0]}), around)
    assert choice.policy == f"{DEFAULT_POLICY} after {order[0]}"
    assert choice.item != order[0]


class _Counted(Mapping[str, tuple[Opinion, ...]]):
    """Opinions that count how often somebody goes through all of them."""

    def __init__(self, opinions: dict[str, tuple[Opinion, ...]]) -> None:
        self._opinions, self.passes = opinions, 0

    def __getitem__(self, key: str) -> tuple[Opinion, ...]:
        return self._opinions[key]

    def __len__(self) -> int:
        return len(self._opinions)

    def __iter__(self) -> Iterator[str]:
        self.passes += 1
        return iter(self._opinions)


def test_a_desk_goes_through_all_opinions_when_it_gets_them_and_not_after_each_grade(tmp_path: Path) -> None:
    items = [Example(id=output_key({}, text), output=text) for text in "abcdef"]
    opinions = _Counted({item.id: OPINIONS["b"] for item in items})
    desk = GradingDesk(items, [WHOLE, Subject("r1", "Be brief.")], tmp_path / "p.grades.jsonl", opinions=opinions)
    passes = opinions.passes
    assert passes > 0
    while (assignment := desk.next("ada")) is not None:
        desk.give("ada", assignment.item.id, "output", "good", assignment=assignment)
    assert opinions.passes == passes
