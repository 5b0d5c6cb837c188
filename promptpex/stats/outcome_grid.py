"""What was asked and what came of it: per model and case, how many repeats broke a rule, kept all, or are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

Completion = Literal["seen", "best", "worst"]
"""How to read an open output, one that was asked for and could not be scored: left out, as kept, or as broken."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The outputs of some models on the same cases, counted. A repeat that was never asked for is in no count.

    Attributes:
        models: their names.
        broken, kept, open: whole numbers, models x cases.
        weights: for each case how many times it counts; whole numbers, all 1 unless the user weighs.
    """

    models: tuple[str, ...]
    broken: Ints
    kept: Ints
    open: Ints
    weights: Ints

    @property
    def asked(self) -> Ints:
        """Outputs that were asked for, models x cases."""
        asked: Ints = self.broken + self.kept + self.open
        return asked

    def sizes(self, completion: Completion) -> Ints:
        """Outputs that a completion counts, models x cases."""
        return self.broken + self.kept if completion == "seen" else self.asked

    def failures(self, completion: Completion) -> Ints:
        """Outputs that break a rule by a completion, models x cases."""
        return self.broken + self.open if completion == "worst" else self.broken

    def row(self, model: str) -> int:
        """The number of a model."""
        return self.models.index(model)

    def scored(self, model: int) -> int:
        """How many of a model's outputs are scored."""
        return int((self.broken[model] + self.kept[model]).sum())

    def missing(self, model: int) -> int:
        """How many of a model's outputs were asked for and could not be scored."""
        return int(self.open[model].sum())

    def only(self, cases: Ints) -> Grid:
        """The same models on some of the cases, by their numbers."""
        kept = (self.broken[:, cases], self.kept[:, cases], self.open[:, cases])
        return Grid(self.models, *kept, self.weights[cases])
