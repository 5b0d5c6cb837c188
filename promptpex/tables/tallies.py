"""Counts that are added up part by part, as small as they can be: what tables are made of without their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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

        wanted = int(numbers.max(initial=-1)) + 1
        if wanted > len(self._places):
            self._places = grown(self._places, wanted, fill=-1)
        (new,) = np.nonzero(self._places[numbers] < 0)
        self._places[numbers[new]] = np.arange(self._count, self._count + len(new))
        self._count += len(new)
        places: Ints = self._places[numbers].astype(np.int64)
        return places

    def numbers(self) -> Ints:
        """The numbers in the order of their places."""
        import numpy as np

        (known,) = np.nonzero(self._places >= 0)
        numbers: Ints = known[np.argsort(self._places[known])]
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
        if (wanted := int(places.max()) + 1) > len(self._counts):
            self._counts = grown(self._counts, wanted)
        sums = self._counts[places] + counts
        if sums.max(initial=0) > np.iinfo(self._counts.dtype).max:
            self._counts = self._counts.astype(np.int64)
        self._counts[places] = sums

    def rows(self, count: int) -> Ints:
        """The counts of the first ``count`` rows, those that were never added to 0."""
        import numpy as np

        known = self._counts[:count].astype(np.int64)
        return np.concatenate([known, np.zeros((count - len(known), known.shape[1]), dtype=np.int64)])


def grown(array: npt.NDArray[Any], wanted: int, *, fill: int = 0) -> npt.NDArray[Any]:
    """The array with room for ``wanted`` rows and some more."""
    import numpy as np

    larger = np.full((max(wanted, len(array) * 5 // 4), *array.shape[1:]), fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger
