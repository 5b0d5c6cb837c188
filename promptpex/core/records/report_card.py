"""The report card: how far checks, judges and chosen assertions agree with what people say of outputs.

The figures are EvalGen's (arXiv 2404.12272, section 4.2 and appendix A.3).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from promptpex.core.records._base import MAX_EXACT, Record

Undefined = Literal["no-labels", "no-bad", "no-good", "zero", "one-answer"]
"""Why a figure is not defined: nothing has a label; nothing is bad, so that there is no coverage; nothing is good, so
that there is no false failure rate; nothing bad is caught and everything good is flagged, so that alignment is 0/0;
people, or the assertion, say the same of everything, so that there is no kappa."""

Whole = Annotated[int, Field(ge=0, le=MAX_EXACT)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class CardFigure(Record):
    """A figure with its interval.

    Attributes:
        estimate: None where it is not defined.
        low, high: the ends of the interval.
        n: outputs behind it.
        method: how the interval was made, in a word or two.
    """

    estimate: Finite | None
    low: Finite
    high: Finite
    n: Whole
    method: str = ""


class ConfusionCounts(Record):
    """How often people and an assertion say what of an output.

    Attributes:
        caught: bad, and it fails. missed: bad, and it passes.
        flagged: good, and it fails. kept: good, and it passes.
    """

    caught: Whole = 0
    missed: Whole = 0
    flagged: Whole = 0
    kept: Whole = 0

    @property
    def bad(self) -> int:
        return self.caught + self.missed

    @property
    def good(self) -> int:
        return self.flagged + self.kept


class AlignmentFigures(Record):
    """How far an assertion, or a set of them, agrees with people on some outputs.

    Attributes:
        counts: the confusion matrix.
        cases: how many different cases the outputs are of.
        coverage: the share of bad outputs that it fails.
        ffr: the share of good outputs that it fails (false failure rate).
        alignment: the harmonic mean of coverage and 1 - FFR.
        kappa: Cohen's kappa of people and the assertion.
        base_rate: the share of bad outputs.
        undefined: why figures are not defined; empty where all are.
    """

    counts: ConfusionCounts
    cases: Whole
    coverage: CardFigure
    ffr: CardFigure
    alignment: CardFigure
    kappa: CardFigure
    base_rate: CardFigure
    undefined: tuple[Undefined, ...] = ()

    @property
    def n(self) -> int:
        """Outputs with a label that the assertion says something of."""
        return self.counts.bad + self.counts.good
