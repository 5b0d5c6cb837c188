"""The exact test that it makes no difference which of two groups of cases is asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from promptpex.core.errors import InputError
from promptpex.stats.outcome_grid import Completion, Grid
from promptpex.stats.special import log_choose

if TYPE_CHECKING:
    from promptpex.stats.outcome_grid import Floats, Ints

_MOST_PARTS = 20_000
"""Parts of all cases together up to which shares of unequal numbers of repeats are kept exactly, which bounds
the size of the distribution."""
_FEWEST_PARTS = 10
"""Parts that each case has at least where its share is rounded: to a twentieth at worst."""


def groups_p(first: Grid, second: Grid, model: int) -> float:
    """The two-sided p-value that a model breaks its rules as often on one group of cases as on another.

    `permutation_p` of the shares of the cases, which count once each. Outputs that are open are read in the way that
    speaks most against the difference: where that turns it round, or a group has no case, the p-value is 1.

    Args:
        first, second: the outputs on either group, with the same models.
        model: its number in both.
    """
    ways: tuple[tuple[Completion, Completion], ...] = (("best", "worst"), ("worst", "best"))
    p_values = [1.0]
    for sign, (one, other) in zip((1, -1), ways, strict=True):
        ours, their_units, unit = _in_one_unit(first, second, model, one, other)
        if (
            ours.size
            and their_units.size
            and sign * (int(ours.sum()) * their_units.size - int(their_units.sum()) * ours.size) >= 0
        ):
            p_values.append(permutation_p(ours, their_units, unit))
    return min(p_values)


def _in_one_unit(first: Grid, second: Grid, model: int, one: Completion, other: Completion) -> tuple[Ints, Ints, int]:
    """The shares of the cases of both groups as whole numbers of a unit; the third is what a share of 1 comes to."""
    import numpy as np

    both = ((first, one), (second, other))
    sizes = [grid.sizes(how)[model] for grid, how in both]
    failures = [grid.failures(how)[model] for grid, how in both]
    cases = [(failed[size > 0], size[size > 0]) for failed, size in zip(failures, sizes, strict=True)]
    all_sizes = np.concatenate([size for _, size in cases])
    unit = _unit(all_sizes) if all_sizes.size else 1
    ours, their_units = (np.rint(failed / size * unit).astype(np.int64) for failed, size in cases)
    return ours, their_units, unit


def _unit(sizes: Ints) -> int:
    """The parts that a case has, so that the shares of cases with so many outputs are whole: of all cases, or, where
    that were too many parts to count with, of those with the commonest number of outputs; the others are rounded."""
    import numpy as np

    kinds, often = np.unique(sizes, return_counts=True)
    unit = math.lcm(*kinds.tolist())
    if unit * sizes.size <= _MOST_PARTS:
        return unit
    common = int(kinds[often.argmax()])
    return common * max(1, _MOST_PARTS // (sizes.size * common), math.ceil(_FEWEST_PARTS / common))


def permutation_p(first: Ints, second: Ints, unit: int = 1) -> float:
    """The two-sided p-value that which group a case is in has nothing to do with its value.

    Under the hypothesis every choice of as many cases as the first group has is as likely to be that group (Fisher
    1935, The Design of Experiments, section 21). The p-value is the chance of all sums of the first group that are no
    likelier than the one seen, counted exactly; sums less than half a case apart are taken together when it is asked
    how likely one is, since with repeats neighbouring sums come about in very different numbers of ways. Where every
    value is 0 or ``unit``, as with one repeat, this is Fisher's exact test. 1 where a group is empty.

    Args:
        first, second: a whole number from 0 to ``unit`` for each case of either group.
        unit: the greatest value that a case can have.

    Raises:
        InputError: a value is outside.
    """
    import numpy as np

    values = np.concatenate([first, second]).astype(np.int64)
    if unit < 1 or values.min(initial=0) < 0 or values.max(initial=0) > unit:
        raise InputError(f"A case has a value outside 0 to {unit}: give each as so many of {unit} parts.")
    if not len(first) or not len(second):
        return 1.0
    step = math.gcd(unit, int(np.gcd.reduce(values)))
    values, unit = values // step, unit // step
    if 2 * int(values.sum()) > unit * values.size:
        # As many parts kept instead of broken: the same test, over fewer sums.
        values = unit - values
    size, observed = len(first), int(values[: len(first)].sum())
    if unit == 1:
        return _rarer(_hypergeometric(size, len(second), int(values.sum())), observed, unit)
    return _rarer(_by_counting(values, size), observed, unit)


def _rarer(chance: Floats, seen: int, unit: int) -> float:
    """The chance of the sums that are at most as likely as the one seen, with those less than half a case from them."""
    import numpy as np

    window = np.ones(unit if unit % 2 else unit + 1)
    if unit % 2 == 0:
        window[[0, -1]] = 0.5
    half = window.size // 2
    near = np.convolve(chance, window)[half : half + chance.size]
    return min(1.0, float(chance[near <= near[seen] * (1.0 + 1e-9)].sum()))


def _hypergeometric(size: int, others: int, hits: int) -> Floats:
    """The chance of each number of hits, from 0 to all, among ``size`` cases drawn without replacement."""
    import numpy as np

    low, high = max(0, hits - others), min(size, hits)
    weights = [log_choose(size, k) + log_choose(others, hits - k) for k in range(low, high + 1)]
    top = max(weights)
    chance = np.zeros(hits + 1)
    chance[low : high + 1] = [math.exp(weight - top) for weight in weights]
    normed: Floats = chance / chance.sum()
    return normed


def _by_counting(values: Ints, size: int) -> Floats:
    """The chance of each sum of ``size`` cases drawn without replacement.

    Each case is taken with the chance that it has to be drawn, independently; of that, what has taken ``size`` cases.
    So no number grows or shrinks beyond what a float holds, however many cases there are.
    """
    import numpy as np

    share_taken = size / values.size
    chance = np.zeros((size + 1, int(values.sum()) + 1))
    chance[0, 0], reach = 1.0, 0
    for value in np.sort(values).tolist():
        more = share_taken * chance[:-1, : reach + 1]
        chance[:, : reach + 1] *= 1.0 - share_taken
        chance[1:, value : value + reach + 1] += more
        reach += value
    normed: Floats = chance[size] / chance[size].sum()
    return normed
