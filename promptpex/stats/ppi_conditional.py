"""Prediction-powered inference for a share among items of a kind, where few items are known to be of it.

Such as the false failure rate: the share of the good outputs that assertions flag, where everybody can see which
outputs are flagged, but people have said of a few only whether they are good.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.core.errors import InputError
from promptpex.stats.argument_checks import require_share
from promptpex.stats.intervals import Interval
from promptpex.stats.korn_graubard import korn_graubard
from promptpex.stats.special import two_sided_t

FEW = 5
"""Below it the normal approximation fails: in simulations 95% intervals then held 81% to 100% of the time."""


@dataclass(frozen=True, slots=True)
class PpiItem:
    """An item.

    Attributes:
        flagged: whether it has the property, or a share of that, 0 to 1; known of every item.
        predicted: how likely it is of the kind, 0 to 1, by anything that has not seen the labels.
        cluster: items of one cluster are not independent.
        is_kind: whether it is of the kind, by a person; None: nobody has said.
    """

    flagged: float
    predicted: float
    cluster: str
    is_kind: bool | None = None


@dataclass(frozen=True, slots=True)
class PpiConditional:
    """A share among the items of a kind.

    Attributes:
        interval: the estimate and its interval, within [0, 1].
        labelled, kind, unlabelled: items with a label, those of the kind among them, and items without a label.
        power: the weight lambda of the predictions; 0 ignores them.
    """

    interval: Interval
    labelled: int
    kind: int
    unlabelled: int
    power: float


def ppi_conditional(items: Sequence[PpiItem], *, confidence: float = 0.95, worth: float = 1.0) -> PpiConditional:
    """The share of flagged items among those of a kind, R = E[flagged * kind] / E[kind].

    R solves E[z] = 0 for z = kind * (flagged - R). With z' = predicted * (flagged - R), which is known of every item,
    lambda * mean(z' of the unlabelled) + mean(z - lambda * z' of the labelled) estimates E[z] without bias, whatever
    the predictions are worth (Angelopoulos et al. 2023, Science 382:669, arXiv 2301.09633, for estimating equations),
    with lambda = cov(z, z') / ((1 + n/N) var(z')), which has least variance (PPI++, arXiv 2311.01453, section 6), not
    below 0 and not above 1 / the mean prediction. The interval holds every R that this does not tell from 0 (Fieller
    1954, J. R. Stat. Soc. B 16:175), by Student's t with a degree of freedom per cluster with an item of the kind,
    less one; the variance is that between clusters.

    It needs labelled items that are a random sample of all. Departures for small samples: half a flagged and half an
    unflagged cluster are added where the variance is computed (in the manner of Agresti and Caffo 2000, Am. Stat.
    54:280); and where fewer than ``FEW`` labelled clusters hold a flagged item of the kind, or an unflagged one, the
    labels alone give the interval (``korn_graubard``). docs/synthesis.md has how often it then holds R.

    Args:
        worth: by which the number of items is multiplied in the variance, such as ``worth_of_folds``.

    Raises:
        InputError: fewer than 2 labelled items of the kind, or a value outside [0, 1].
    """
    require_share("confidence", confidence)
    if any(not 0.0 <= value <= 1.0 for item in items for value in (item.flagged, item.predicted)):
        raise InputError("A value lies outside 0 to 1: give shares.")
    graded_items = [item for item in items if item.is_kind is not None]
    others = [item for item in items if item.is_kind is None]
    kinds = sum(item.is_kind is True for item in graded_items)
    if kinds < 2:
        raise InputError(f"{kinds} labelled items of the kind are too few: label at least 2.")
    with_flag = {item.cluster for item in graded_items if item.is_kind and item.flagged > 0.0}
    without = {item.cluster for item in graded_items if item.is_kind and item.flagged < 1.0}
    if not others or min(len(with_flag), len(without)) < FEW:
        return PpiConditional(_of_labels(graded_items, confidence, worth), len(graded_items), kinds, len(others), 0.0)
    power = _power(graded_items, others)
    terms = _terms(graded_items, others, power)
    clusters = len({item.cluster for item in graded_items if item.is_kind})
    quantile = two_sided_t(confidence, max(1, clusters - 1)) / math.sqrt(worth)
    estimate, low, high = _inverted(terms, len({item.cluster for item in graded_items}), quantile)
    method = "prediction-powered" if power > 0.0 else "t"
    interval = Interval(estimate, low, high, confidence, len(items), method)
    return PpiConditional(interval, len(graded_items), kinds, len(others), power)


def _of_labels(known: Sequence[PpiItem], confidence: float, worth: float) -> Interval:
    """The share by the labels alone; shares of an item count as whole where they are a half or more."""
    clusters: defaultdict[str, list[int]] = defaultdict(list)
    for item in known:
        if item.is_kind:
            clusters[item.cluster].append(item.flagged >= 0.5)
    totals, sizes = [sum(each) for each in clusters.values()], [len(each) for each in clusters.values()]
    return korn_graubard(totals, sizes, confidence, worth=worth)


def _power(known: Sequence[PpiItem], others: Sequence[PpiItem]) -> float:
    """The lambda of least variance, at the share that the labels alone give."""
    kinds = [item for item in known if item.is_kind]
    rate = sum(item.flagged for item in kinds) / len(kinds)
    truth = [float(bool(item.is_kind)) * (item.flagged - rate) for item in known]
    guess = [item.predicted * (item.flagged - rate) for item in known]
    all_guesses = guess + [item.predicted * (item.flagged - rate) for item in others]
    mean_every, mean_guess = math.fsum(all_guesses) / len(all_guesses), math.fsum(guess) / len(guess)
    spread = math.fsum((value - mean_every) ** 2 for value in all_guesses) / (len(all_guesses) - 1)
    if spread <= 0.0:
        return 0.0
    mean_truth = math.fsum(truth) / len(truth)
    pairs = zip(truth, guess, strict=True)
    covariance = math.fsum((one - mean_truth) * (other - mean_guess) for one, other in pairs) / (len(known) - 1)
    most = 1.0 / max(1e-9, math.fsum(item.predicted for item in (*known, *others)) / (len(known) + len(others)))
    return min(most, max(0.0, covariance / ((1.0 + len(known) / len(others)) * spread)))


@dataclass(frozen=True, slots=True)
class _Terms:
    """mean = a - R b; its variance is aa - 2 R ab + R R bb."""

    a: float
    b: float
    aa: float
    ab: float
    bb: float


def _terms(known: Sequence[PpiItem], others: Sequence[PpiItem], power: float) -> _Terms:
    parts = [
        (item, power * item.predicted * item.flagged, power * item.predicted, len(others)) for item in others if power
    ]
    parts += [
        (item, weight * item.flagged, weight, len(known))
        for item in known
        for weight in (float(bool(item.is_kind)) - power * item.predicted,)
    ]
    a, b = math.fsum(part[1] / part[3] for part in parts), math.fsum(part[2] / part[3] for part in parts)
    means = {
        size: (
            math.fsum(p[1] for p in parts if p[3] == size) / size,
            math.fsum(p[2] for p in parts if p[3] == size) / size,
        )
        for size in {part[3] for part in parts}
    }
    clusters: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for item, flagged, weight, size in parts:
        clusters[item.cluster][0] += (flagged - means[size][0]) / size
        clusters[item.cluster][1] += (weight - means[size][1]) / size
    small_sample_factor = len(clusters) / max(1, len(clusters) - 1)
    aa = small_sample_factor * math.fsum(one * one for one, _ in clusters.values())
    ab = small_sample_factor * math.fsum(one * two for one, two in clusters.values())
    bb = small_sample_factor * math.fsum(two * two for _, two in clusters.values())
    return _Terms(a, b, aa, ab, bb)


def _inverted(terms: _Terms, clusters: int, quantile: float) -> tuple[float | None, float, float]:
    """The share, and the ends of all shares R for which a - R b is within ``quantile`` standard errors of 0."""
    added = 1.0 / (2.0 * clusters * clusters)
    square = quantile * quantile
    # Half a cluster of the kind flagged and half of one not: ((1 - R) ** 2 + R ** 2) / 2.
    aa, ab, bb = terms.aa + added, terms.ab + added, terms.bb + 2.0 * added
    lead = terms.b * terms.b - square * bb
    middle = terms.a * terms.b - square * ab
    last = terms.a * terms.a - square * aa
    estimate = min(1.0, max(0.0, terms.a / terms.b)) if terms.b > 0.0 else None
    if lead <= 0.0:
        return estimate, 0.0, 1.0
    root = math.sqrt(max(0.0, middle * middle - lead * last))
    low, high = (middle - root) / lead, (middle + root) / lead
    return estimate, min(1.0, max(0.0, low)), max(0.0, min(1.0, high))
