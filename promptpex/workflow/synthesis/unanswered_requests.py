"""What an author has not answered yet, and what one was asked about in vain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from promptpex.core.ids import digest
from promptpex.core.records import Criterion, Delta
from promptpex.core.translation import stored_n
from promptpex.synthesis.proposing.criteria import sentence_digest


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """What an author can be asked about.

    Attributes:
        categories: the changes of versions that have no category yet, as texts.
        sentences: digests of added sentences that no criteria were made of.
        criteria: the words of the criteria that no candidates were written for.
    """

    categories: tuple[str, ...]
    sentences: tuple[str, ...]
    criteria: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.categories or self.sentences or self.criteria)

    def of(self, author: str) -> set[str]:
        """Each question to this author, as a digest that stands in the history once it was asked in vain."""
        kinds = {"categories": self.categories, "criteria": self.sentences, "candidates": self.criteria}
        return {digest([author, kind, one], 12) for kind, some in kinds.items() for one in some}

    def sentence(self) -> str:
        """What waits for an answer, in words."""
        versions, new, criteria = map(len, (self.categories, self.sentences, self.criteria))
        parts = [
            versions
            and stored_n("{count} version without categories", "{count} versions without categories", versions),
            new and stored_n("{count} new sentence", "{count} new sentences", new),
            criteria
            and stored_n("{count} criterion without a candidate", "{count} criteria without a candidate", criteria),
        ]
        return "; ".join(part for part in parts if part)


def open_questions(deltas: Iterable[Delta], new: Iterable[Delta], waiting: Iterable[Criterion]) -> OpenQuestions:
    """What there is to ask.

    Args:
        deltas: of all versions.
        new: the changes that no criteria were asked for.
        waiting: the criteria that no candidates were asked for.
    """
    return OpenQuestions(
        tuple(repr(delta.changes) for delta in deltas if delta.changes and not delta.categories),
        tuple(sentence_digest(change.text) for delta in new for change in delta.changes if change.tag == "added"),
        tuple(criterion.text for criterion in waiting),
    )
