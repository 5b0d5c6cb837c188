"""Differences of figures on outputs whose cases are the same, against independent groups and simulated truths."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.alignment.measures import Compared, Observation, difference, figures_of
from promptpex.stats import Interval

np = pytest.importorskip("numpy")
FIGURES: tuple[Compared, ...] = ("coverage", "ffr", "alignment", "bad")


def observations(signs: str, cases: str = "case") -> list[Observation]:
    """A letter an output: caught, missed, flagged, kept; each of a case of its own."""
    return [Observation(sign in "cm", sign in "cf", f"{cases} {number}") for number, sign in enumerate(signs)]


def of(name: Compared, before: list[Observation], after: list[Observation]) -> Interval:
    return difference(name, (before, figures_of(before)), (after, figures_of(after)))


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_outputs_differ_by_nothing_and_the_same_cases_by_less_than_others(name: Compared) -> None:
    signs = "ccmmcfkkkkkfkk" * 3
    again, others = (observations(signs, cases) for cases in ("case", "other"))
    same, apart = of(name, observations(signs), again), of(name, observations(signs), others)
    assert same.estimate == apart.estimate == pytest.approx(0)
    assert same.width < apart.width / 2


def test_a_handful_of_cases_that_agree_throughout_is_no_proof_that_nothing_changed() -> None:
    few = of("bad", observations("ccmkkk"), observations("ccmkkk"))
    many = of("bad", observations("ccmkkk" * 20), observations("ccmkkk" * 20))
    assert few.low < -0.2
    assert few.high > 0.2
    assert -0.05 < many.low < 0 < many.high < 0.05
    rng, rounds, covered = np.random.default_rng(4), 150, 0
    for _ in range(rounds):
        hard = rng.random(10)
        before, after = ("".join("c" if one < share else "k" for one in hard) for share in (0.4, 0.5))
        made = of("bad", observations(before), observations(after))
        covered += made.low <= 0.1 <= made.high
    assert covered / rounds >= 0.92


def test_opposite_cases_differ_by_more() -> None:
    before, same, opposite = (observations(signs) for signs in ("cm" * 20, "cm" * 20, "mc" * 20))
    apart = of("coverage", before, observations("cm" * 20, "other"))
    assert of("coverage", before, same).width < apart.width < of("coverage", before, opposite).width


def test_a_figure_that_one_side_lacks_has_no_difference_and_one_that_does_not_vary_no_pairs() -> None:
    assert of("coverage", observations("kkkf"), observations("ccmk")).estimate is None
    alike = of("coverage", observations("cccc"), observations("cccc"))
    assert alike == of("coverage", observations("cccc"), observations("cccc", "other"))
    assert alike.width > 0.5


def drawn(rng: Any, coverage: float, alike: float, hard: Any) -> list[Observation]:
    """40 outputs, of which cases of both runs decide a share ``alike``."""
    own = rng.random((2, 40))
    (bad, fails) = np.where(rng.random((2, 40)) < alike, hard, own)
    return [
        Observation(bool(b < 0.4), bool(f < (coverage if b < 0.4 else 0.1)), str(number))
        for number, (b, f) in enumerate(zip(bad, fails, strict=True))
    ]


@pytest.mark.parametrize("alike", [0.0, 0.7])
def test_differences_cover_and_are_shorter_where_cases_are_alike(alike: float) -> None:
    rng, rounds = np.random.default_rng(3), 150
    covered = dict.fromkeys(FIGURES, 0)
    truth = {"coverage": 0.2, "ffr": 0.0, "bad": 0.0, "alignment": 2 * 0.8 * 0.9 / 1.7 - 2 * 0.6 * 0.9 / 1.5}
    widths = [0.0, 0.0]
    for _ in range(rounds):
        hard = rng.random((2, 40))
        before, after = drawn(rng, 0.6, alike, hard), drawn(rng, 0.8, alike, hard)
        for name in FIGURES:
            made = of(name, before, after)
            covered[name] += made.low <= truth[name] <= made.high
        others = [Observation(one.is_bad, one.fails, f"other {one.cluster}") for one in after]
        widths[0] += of("bad", before, after).width
        widths[1] += of("bad", before, others).width
    assert min(covered.values()) / rounds >= 0.92
    assert widths[0] < (0.8 if alike else 1.05) * widths[1]
