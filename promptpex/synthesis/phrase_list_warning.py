"""A known weakness of synthesised assertions: what an answer must not do, decided by a list of phrases.

The paper's own assertions do so (looking for "unrelated" or "I'm sorry"): an answer in other words slips by, and a
right one that quotes such a phrase is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from promptpex.assertions.phrase_list_detection import guessed_phrases
from promptpex.core.records import Candidate, Criterion
from promptpex.synthesis.history.deltas import same_sentence


def exclusions_by_phrases(criteria: Iterable[Criterion], candidates: Iterable[Candidate]) -> list[str]:
    """Names of candidates that decide an exclusion by phrases which the criterion does not name.

    Args:
        criteria: tell which candidates are about an exclusion, and in which words.
        candidates: of any kind; in their order.
    """
    by_id = {criterion.id: criterion for criterion in criteria}
    return [candidate.id for candidate in candidates if _looks_for_phrases(candidate, by_id)]


def _looks_for_phrases(candidate: Candidate, by_id: Mapping[str, Criterion]) -> bool:
    own_criteria = [by_id[name] for name in candidate.criteria if name in by_id]
    if not any(criterion.category == "exclusion" for criterion in own_criteria):
        return False
    stated = same_sentence(" ".join(f"{criterion.text} {criterion.source}" for criterion in own_criteria))
    return bool(guessed_phrases(candidate.check, stated))
