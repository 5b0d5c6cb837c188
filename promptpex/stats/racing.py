"""Which models may stop: places in a race that are settled however often one looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from promptpex.errors import InputError
from promptpex.stats.arguments import require_share
from promptpex.stats.intervals import Interval
from promptpex.stats.paired import PairedCounts, count_pairs
from promptpex.stats.sequential import Side, paired_sequence, share_sequence, side_of, sign_log_evidence

Place = Literal["leading", "tied", "worse", "open"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one model stands in a race so far.

    Attributes:
        model: its name.
        place: ``leading`` (certainly better than every other), ``tied`` (certainly within the tolerance of the best),
            ``worse`` (certainly worse than some other) or ``open``.
        settled: whether more outputs of this model can be spared: no place still hangs on them.
        beaten_by: a model that is certainly better, the one with the strongest evidence.
    """

    model: str
    place: Place
    settled: bool
    beaten_by: str | None


def race(
    results: Mapping[str, Mapping[str, bool | None]], *, tolerance: float | None = None, alpha: float = 0.05
) -> dict[str, Standing]:
    """The standing of every model, right at all looks together with probability ``1 - alpha``.

    The error is split evenly over the pairs of models. Within a pair, who is better is decided by the
    anytime-valid sign test, and being within the tolerance by the confidence sequence of the difference; with
    a tolerance each gets half of the pair's error. A model that is certainly worse than any other is out. A
    model is tied when it is certainly within the tolerance of every model that is not out, and so of the
    best, whichever that is; it may stop when no survivor's place hangs on a comparison with it. A model without a
    scored case is open and in nobody's way; the error is split as if it were there.

    Args:
        results: per model, per case, whether it passed (``None``: unscored or not yet asked).
        tolerance: the loss that one is ready to accept, as a share; ``None``: only differences settle a place.
        alpha: the probability of any wrong place at any look.
    """
    require_share("alpha", alpha)
    if tolerance is not None:
        require_share("tolerance", tolerance)
    models = list(results)
    pairs = {(i, j): compare_cases(results[i], results[j]) for i, j in combinations(models, 2)}
    pairs |= {(j, i): counts.swapped for (i, j), counts in pairs.items()}
    share = alpha / max(1, len(pairs) // 2) / (1 if tolerance is None else 2)
    beaten = {model: _beaten_by(model, models, pairs, share) for model in models}
    live = [model for model in models if any(passed is not None for passed in results[model].values())]
    left = [model for model in live if beaten[model] is None]
    close = _close_pairs(left, pairs, tolerance, share)
    standings = {}
    for model in models:
        others = [other for other in left if other != model]
        if model not in live:
            standings[model] = Standing(model, "open", False, None)
        elif beaten[model] is not None:
            standings[model] = Standing(model, "worse", True, beaten[model])
        elif not others and len(live) > 1:
            standings[model] = Standing(model, "leading", True, None)
        else:
            tied = bool(others) and all((model, other) in close for other in others)
            settled = tied and all((other, model) in close for other in others)
            standings[model] = Standing(model, "tied" if tied else "open", settled, None)
    return standings


def compare_cases(first: Mapping[str, bool | None], second: Mapping[str, bool | None]) -> PairedCounts:
    """The fourfold table of the cases that both models have."""
    return count_pairs((passed, second.get(case)) for case, passed in first.items())


def _beaten_by(
    model: str, models: Sequence[str], pairs: Mapping[tuple[str, str], PairedCounts], share: float
) -> str | None:
    best, strongest = None, -math.log(share)
    for other in models:
        if other == model or pairs[other, model].first_only <= pairs[other, model].second_only:
            continue
        evidence = sign_log_evidence(pairs[other, model])
        if evidence >= strongest:
            best, strongest = other, evidence
    return best


def _close_pairs(
    left: Sequence[str], pairs: Mapping[tuple[str, str], PairedCounts], tolerance: float | None, share: float
) -> set[tuple[str, str]]:
    """The pairs (a, b) in which a is certainly less than the tolerance worse than b."""
    if tolerance is None:
        return set()
    close = set()
    for first, second in combinations(left, 2):
        interval = paired_sequence(pairs[first, second], 1.0 - share)
        if interval.low > -tolerance:
            close.add((first, second))
        if interval.high < tolerance:
            close.add((second, first))
    return close


def sides(
    results: Mapping[str, tuple[float, int]], limit: float, *, alpha: float = 0.05
) -> dict[str, tuple[Interval, Side]]:
    """Per model, on which side of a limit its share lies, right for all models at all looks together.

    Args:
        results: per model (failed or passed, scored) so far; what is counted is what the limit is for. A case with
            several repeats may count for its share.
        limit: a share in [0, 1].
        alpha: the probability that any model is ever put on the wrong side; split evenly over the models.
    """
    require_share("alpha", alpha)
    if not 0.0 <= limit <= 1.0:
        raise InputError(f"The limit is {limit}: give a share between 0 and 1.")
    decided = {}
    for model, (count, n) in results.items():
        interval = share_sequence(count, n, 1.0 - alpha / len(results))
        decided[model] = (interval, side_of(interval, limit))
    return decided
