"""Holding out: items are divided into folds, and whatever is chosen, or fitted, for a fold is made from the others.

What is chosen by some items looks better on them than on others. Items of one cluster, such as the outputs of a case,
are alike, so they stay together.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

FOLDS = 5
SEED = 0


@dataclass(frozen=True, slots=True)
class Fold(Generic[T]):
    """Items that were held out, by their numbers in order, and what was chosen by the others."""

    held_out: tuple[int, ...]
    chosen: T


def folds_of(kinds: Sequence[bool], clusters: Sequence[str], *, folds: int = FOLDS, seed: int = SEED) -> list[int]:
    """The fold of each item: clusters stay whole, and both kinds are spread evenly.

    Fewer folds where there are fewer clusters with an item of either kind; a single one leaves nothing to hold out.

    Args:
        kinds: of which of the two kinds each item is, such as whether it is bad.
        clusters: what each item belongs to.
    """
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for kind, cluster in zip(kinds, clusters, strict=True):
        counts[cluster][bool(kind)] += 1
    most = min(folds, *(sum(count[kind] > 0 for count in counts.values()) for kind in (0, 1))) if counts else 0
    if most < 2:
        return [0] * len(kinds)
    order = list(counts)
    random.Random(seed).shuffle(order)
    order.sort(key=lambda cluster: (-counts[cluster][1], -counts[cluster][0]))
    filled = [[0, 0] for _ in range(most)]
    places: dict[str, int] = {}
    for cluster in order:
        first, second = counts[cluster]
        own = 1 if second else 0
        place = min(range(most), key=lambda fold: (filled[fold][own], filled[fold][1 - own], fold))
        places[cluster] = place
        filled[place][0] += first
        filled[place][1] += second
    return [places[cluster] for cluster in clusters]


def worth_of_folds(folds: int) -> float:
    """What an item that was held out is worth for the figures of what is chosen by all items.

    What is chosen differs from fold to fold, and the folds are chosen by largely the same items: the variance of a mean
    over them is greater by about 1 + folds * n2/n1, with n2/n1 = 1 / (folds - 1) items held out for each that chooses
    (Nadeau and Bengio 2003, Machine Learning 52:239). docs/synthesis.md has how often intervals then hold the truth.
    """
    return (folds - 1) / (2 * folds - 1)


def held_out(
    kinds: Sequence[bool],
    clusters: Sequence[str],
    choose: Callable[[list[int]], T],
    *,
    folds: int = FOLDS,
    seed: int = SEED,
) -> list[Fold[T]]:
    """Each fold with what is chosen by the items of the other folds; none where too few items are there.

    Args:
        kinds, clusters, folds, seed: as for ``folds_of``.
        choose: chooses by the items of these numbers.
    """
    fold_of = folds_of(kinds, clusters, folds=folds, seed=seed)
    count = max(fold_of, default=0) + 1
    if count < 2:
        return []
    members = [tuple(item for item, place in enumerate(fold_of) if place == fold) for fold in range(count)]
    return [
        Fold(out, choose([item for item, place in enumerate(fold_of) if place != fold]))
        for fold, out in enumerate(members)
    ]
