"""Candidates of replies that are on their way: shown and run before the author has finished, and in no file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from promptpex.core.records import Candidate, Synthesis
from promptpex.synthesis.edit_criteria import with_added_candidates


class ArrivingCandidates:
    """What has come of replies that are not whole yet. Safe in several threads.

    What is in the file by then is not given twice, so that a candidate is there all the time while its reply ends.

    Args:
        changed: called after each change.
    """

    def __init__(self, changed: Callable[[], object]) -> None:
        self._changed = changed
        self._coming: Mapping[str, tuple[Candidate, ...]] = {}

    def tell(self, criterion: str, candidates: tuple[Candidate, ...]) -> None:
        """Takes what has come for a criterion, in place of what had come before."""
        if candidates != self._coming.get(criterion, ()):
            self._coming = {**self._coming, criterion: candidates}
            self._changed()

    def over(self, criterion: str) -> None:
        """Forgets what came for a criterion: the reply is whole, and what came of it stands in the file."""
        self._coming = {name: candidates for name, candidates in self._coming.items() if name != criterion}

    @property
    def count(self) -> int:
        """How many have come of replies that are not whole yet."""
        return sum(map(len, self._coming.values()))

    def stamp(self) -> object:
        """What differs after each change."""
        return self._coming

    def with_file(self, synthesis: Synthesis) -> tuple[Synthesis, frozenset[str]]:
        """What stands in the file together with what is on its way, and the ids that this has."""
        on_file = {(one.fingerprint, name) for one in synthesis.candidates for name in one.criteria}
        coming = [one for candidates in self._coming.values() for one in candidates]
        new = [one for one in coming if not all((one.fingerprint, name) in on_file for name in one.criteria)]
        synthesis, names = with_added_candidates(synthesis, new)
        return synthesis, frozenset(names)
