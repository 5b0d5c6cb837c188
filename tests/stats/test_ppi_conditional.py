"""A share among items of a kind that few are known to be of: simulated, and held to what the labels alone give."""

from __future__ import annotations

import random

import pytest

from promptpex.core.errors import InputError
from promptpex.stats import PpiItem, korn_graubard, ppi_conditional
from promptpex.stats.ppi_conditional import FEW


def sample(seed: int, *, n: int, unlabelled: int, rate: float, quality: float, size: int = 1) -> list[PpiItem]:
    """Items of which 60% are of the kind, ``rate`` of those flagged and 70% of the others; the first n have a label."""
    rng = random.Random(seed)
    items = []
    for number in range(n + unlabelled):
        is_kind = rng.random() < 0.6
        flagged = rng.random() < (rate if is_kind else 0.7)
        guess = quality * (0.8 * is_kind + 0.1) + (1 - quality) * rng.random()
        label = is_kind if number < n else None
        items.append(PpiItem(float(flagged), guess, str(number // size), label))
    return items


@pytest.mark.parametrize(("n", "rate", "quality"), [(25, 0.5, 0.9), (50, 0.25, 0.5), (100, 0.1, 0.9), (100, 0.03, 0.5)])
def test_the_interval_holds_the_share_as_often_as_it_says(n: int, rate: float, quality: float) -> None:
    drawn = [ppi_conditional(sample(seed, n=n, unlabelled=400, rate=rate, quality=quality)) for seed in range(150)]
    held = sum(one.interval.low <= rate <= one.interval.high for one in drawn)
    assert held >= 0.9 * len(drawn)
    estimates = [one.interval.estimate or 0.0 for one in drawn]
    assert sum(estimates) / len(estimates) == pytest.approx(rate, abs=0.03)


def test_good_predictions_shorten_it_and_useless_ones_do_not_widen_it_much() -> None:
    def width(quality: float) -> float:
        drawn = [ppi_conditional(sample(seed, n=60, unlabelled=600, rate=0.4, quality=quality)) for seed in range(40)]
        return sum(one.interval.width for one in drawn) / len(drawn)

    labels = [
        ppi_conditional(sample(seed, n=60, unlabelled=0, rate=0.4, quality=0.0)).interval.width for seed in range(40)
    ]
    alone = sum(labels) / len(labels)
    assert width(0.95) < 0.6 * alone
    assert width(0.0) < 1.05 * alone


def test_with_few_exceptions_or_no_other_items_the_labels_alone_count() -> None:
    items = sample(1, n=40, unlabelled=200, rate=0.05, quality=0.9)
    kinds = [item for item in items if item.is_kind]
    flagged = int(sum(item.flagged for item in kinds))
    assert flagged < FEW
    made = ppi_conditional(items)
    assert made.interval == korn_graubard([int(item.flagged) for item in kinds], [1] * len(kinds))
    assert (made.power, made.labelled, made.kind, made.unlabelled) == (0.0, 40, len(kinds), 200)
    without = ppi_conditional(sample(2, n=40, unlabelled=0, rate=0.5, quality=0.9))
    assert (without.power, without.interval.method) == (0.0, "korn-graubard")


def test_items_of_one_cluster_count_for_less() -> None:
    items = sample(3, n=60, unlabelled=0, rate=0.5, quality=0.9)
    doubled = [item for item in items for _ in range(2)]
    one, two = ppi_conditional(items), ppi_conditional(doubled)
    assert two.interval.width == pytest.approx(one.interval.width, rel=0.05)
    more = sample(3, n=60, unlabelled=300, rate=0.5, quality=0.9)
    assert ppi_conditional([each for item in more for each in (item, item)]).interval.width == pytest.approx(
        ppi_conditional(more).interval.width, rel=0.05
    )


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        ([], "0 labelled items of the kind are too few"),
        ([PpiItem(1.0, 0.5, "a", True), PpiItem(1.0, 0.5, "b", False)], "1 labelled items"),
        ([PpiItem(1.5, 0.5, "a", True)], "outside 0 to 1"),
        ([PpiItem(1.0, float("nan"), "a", True)], "outside 0 to 1"),
    ],
)
def test_what_cannot_be_estimated_is_refused(items: list[PpiItem], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ppi_conditional(items)


def test_predictions_that_never_vary_still_give_an_interval() -> None:
    items = [
        PpiItem(item.flagged, 0.0, item.cluster, item.is_kind)
        for item in sample(4, n=80, unlabelled=9, rate=0.5, quality=0)
    ]
    made = ppi_conditional(items)
    assert made.power == 0.0
    assert 0.0 <= made.interval.low <= (made.interval.estimate or 0.0) <= made.interval.high <= 1.0
