"""Counts that are added up part by part, as small as they can be: what tables are made of without their rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.tables.plain_values import plain_values

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]


class Numbering:
    """Numbers names as they first appear, from 0."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def of(self, names: Sequence[str]) -> Ints:
        """The numbers of these names; new ones get the next."""
        import numpy as np

        numbers = self._numbers
        return np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64, len(names))


class Cases(Numbering):
    """Numbers the cases of a run, each with the rule that it aims at and whether at its inverse: five bytes for each
    beside its name."""

    def __init__(self) -> None:
        super().__init__()
        self._rules = Numbering()
        self._aims, self._sides = array("i"), array("b")

    def add(self, rows: pd.DataFrame) -> None:
        """Numbers the cases of a table with the columns ``case``, ``aim`` and ``inverse``."""
        new = rows.drop_duplicates("case")
        fields = (plain_values(new[name]) for name in ("case", "aim", "inverse"))
        for case, aim, inverse in zip(*fields, strict=True):
            if case not in self._numbers:
                self._numbers[case] = len(self._numbers)
                self._aims.append(-1 if aim is None else int(self._rules.of([aim])[0]))
                self._sides.append(bool(inverse))

    def of(self, names: Sequence[str]) -> Ints:
        """As in ``Numbering``; a new case aims at nothing."""
        numbers = super().of(names)
        new = len(self._numbers) - len(self._aims)
        self._aims.extend([-1] * new)
        self._sides.extend([False] * new)
        return numbers

    def known(self, names: Sequence[str]) -> Ints:
        """The numbers of these cases; -1 for one that has none."""
        import numpy as np

        return np.fromiter((self._numbers.get(name, -1) for name in names), np.int64, len(names))

    def aims(self, names: Sequence[str]) -> list[tuple[str | None, bool]]:
        """What each case aims at, and whether at its inverse; nothing of one that has no number."""
        rules = [*self._rules, None]
        numbers = (self._numbers.get(name) for name in names)
        return [(None, False) if at is None else (rules[self._aims[at]], bool(self._sides[at])) for at in numbers]


class Renumbering:
    """Numbers some of the numbers of a ``Numbering`` as they first appear, from 0, in four bytes each."""

    def __init__(self) -> None:
        import numpy as np

        self._places = np.empty(0, dtype="int32")
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def of(self, numbers: Ints) -> Ints:
        """The places of these numbers, which are all different; new ones get the next."""
        import numpy as np

        size_needed = int(numbers.max(initial=-1)) + 1
        if size_needed > len(self._places):
            self._places = grown(self._places, size_needed, fill=-1)
        (new,) = np.nonzero(self._places[numbers] < 0)
        self._places[numbers[new]] = np.arange(self._count, self._count + len(new))
        self._count += len(new)
        places: Ints = self._places[numbers].astype(np.int64)
        return places

    def numbers(self) -> Ints:
        """The numbers in the order of their places."""
        import numpy as np

        (numbered,) = np.nonzero(self._places >= 0)
        numbers: Ints = numbered[np.argsort(self._places[numbered])]
        return numbers


class Tally:
    """Counts in rows of a width, in two bytes each until one needs more.

    Args:
        width: counts of a row.
    """

    def __init__(self, width: int) -> None:
        import numpy as np

        self._counts: npt.NDArray[Any] = np.zeros((0, width), dtype="uint16")

    def add(self, places: Ints, counts: Ints) -> None:
        """Adds counts to rows.

        Args:
            places: the numbers of the rows, all different.
            counts: ``len(places)`` x width.
        """
        import numpy as np

        if not len(places):
            return
        if (size_needed := int(places.max()) + 1) > len(self._counts):
            self._counts = grown(self._counts, size_needed)
        sums = self._counts[places] + counts
        if sums.max(initial=0) > np.iinfo(self._counts.dtype).max:
            self._counts = self._counts.astype(np.int64)
        self._counts[places] = sums

    def rows(self, count: int) -> Ints:
        """The counts of the first ``count`` rows, those that were never added to 0."""
        import numpy as np

        counts = self._counts[:count].astype(np.int64)
        return np.concatenate([counts, np.zeros((count - len(counts), counts.shape[1]), dtype=np.int64)])


def grown(array: npt.NDArray[Any], wanted: int, *, fill: int = 0) -> npt.NDArray[Any]:
    """The array with room for ``wanted`` rows and some more."""
    import numpy as np

    larger = np.full((max(wanted, len(array) * 5 // 4), *array.shape[1:]), fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger
