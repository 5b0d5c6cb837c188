"""The two shares that assertions are chosen by: of bad outputs how many they catch, of good ones how many they flag."""

from __future__ import annotations

from typing import Protocol


class _CaughtAndFlagged(Protocol):
    @property
    def caught(self) -> int: ...

    @property
    def bad(self) -> int: ...

    @property
    def flagged(self) -> int: ...

    @property
    def good(self) -> int: ...


class CoverageAndFfr:
    """For records that count ``caught`` of ``bad`` outputs and ``flagged`` of ``good`` ones."""

    __slots__ = ()

    @property
    def coverage(self: _CaughtAndFlagged) -> float | None:
        """The share of the bad outputs that are caught; None where there are none."""
        return self.caught / self.bad if self.bad else None

    @property
    def ffr(self: _CaughtAndFlagged) -> float | None:
        """The false failure rate: the share of the good outputs that are flagged; None where there are none."""
        return self.flagged / self.good if self.good else None
