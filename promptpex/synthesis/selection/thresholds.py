"""The two limits of a selection, as whole numbers of examples: what is compared is never a rounded share.

A limit is inclusive (section 4.3): a false failure rate of at most tau, a coverage of at least alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from promptpex.synthesis.selection.problem import SelectionProblem

COVERAGE = Fraction(6, 10)
"""The paper's least coverage, alpha."""
FFR = Fraction(1, 4)
"""The paper's highest false failure rate, tau."""


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
