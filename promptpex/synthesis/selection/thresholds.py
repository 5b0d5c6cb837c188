"""The two limits of a selection, as whole numbers of examples: what is compared is never a rounded share.

A limit is inclusive (section 4.3): a false failure rate of at most tau, a coverage of at least alpha. In binary
floating point .07 * 100 is above 7 and .29 * 100 below 29, so shares are fractions made from their decimal text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from promptpex.core.errors import InputError
from promptpex.synthesis.selection.problem import SelectionProblem

COVERAGE = Fraction(6, 10)
"""The paper's least coverage, alpha."""
FFR = Fraction(1, 4)
"""The paper's highest false failure rate, tau."""

_SHARE = re.compile(r"\s*(\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})\s*(%?)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class SelectionLimits:
    """What a selection has to keep: the least coverage and the highest false failure rate, both inclusive."""

    coverage: Fraction = COVERAGE
    ffr: Fraction = FFR

    def least_caught(self, problem: SelectionProblem) -> int:
        """How many bad examples have to be caught: the share rounded up."""
        return -(-self.coverage * problem.bad.bit_count() // 1)

    def most_flagged(self, problem: SelectionProblem) -> int:
        """How many good examples may be flagged: the share rounded down."""
        return self.ffr * problem.good.bit_count() // 1


def share(text: str) -> Fraction:
    """A share as a person writes it, ``.6``, ``0.25`` or ``25%``, without rounding.

    Raises:
        InputError: it is not a number from 0 to 1, or from 0% to 100%.
    """
    number = _SHARE.fullmatch(text)
    value = Fraction(number[1]) / (100 if number[2] else 1) if number else None
    if value is None or not 0 <= value <= 1:
        raise InputError(f"{text[:40]!r} is not a share: write 0.25 or 25%")
    return value
