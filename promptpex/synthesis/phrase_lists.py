"""A known weakness of synthesised assertions: what an answer must not do, decided by a list of phrases.

The paper's own assertions do so (looking for "unrelated" or "I'm sorry"): an answer in other words slips by, and a
right one that quotes such a phrase is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from promptpex.core.records import Candidate, Criterion
from promptpex.synthesis.deltas import same_sentence

_PHRASES = ("contains", "icontains", "word-any", "word-all", "regex")
_IN_CODE = re.compile(r"""(?<![\w"'])(?:"([^"\n]{3,60})"|'([^'\n]{3,60})')""")
_FEWEST_IN_CODE = 2


def phrase_lists(criteria: Iterable[Criterion], candidates: Iterable[Candidate]) -> list[str]:
    """Names of candidates that decide an exclusion by phrases which the criterion does not name."""
    by_id = {criterion.id: criterion for criterion in criteria}
    return [candidate.id for candidate in candidates if _looks_for_phrases(candidate, by_id)]


def _looks_for_phrases(candidate: Candidate, by_id: Mapping[str, Criterion]) -> bool:
    mine = [by_id[name] for name in candidate.criteria if name in by_id]
    if not any(criterion.category == "exclusion" for criterion in mine):
        return False
    named = same_sentence(" ".join(f"{criterion.text} {criterion.source}" for criterion in mine)).casefold()
    phrases = [phrase for phrase in _phrases(candidate) if same_sentence(phrase).casefold() not in named]
    return bool(phrases)


def _phrases(candidate: Candidate) -> Sequence[str]:
    """The phrases that a candidate looks for; of Python, texts between quotation marks that hold a space."""
    kind, value = candidate.check.kind.removeprefix("not-"), candidate.check.value
    if kind == "python" and isinstance(value, str):
        code = re.sub(r'"{3}.*?"{3}', "", value, flags=re.DOTALL)
        texts = [first or second for first, second in _IN_CODE.findall(code)]
        spoken = [text for text in texts if " " in text and text.replace(" ", "").replace("'", "").isalpha()]
        return spoken if len(spoken) >= _FEWEST_IN_CODE else []
    if not kind.startswith(_PHRASES):
        return []
    values = value if isinstance(value, list) else [value]
    texts = [part for each in values if isinstance(each, str) for part in each.split("|" if kind == "regex" else "\0")]
    return [text for text in texts if sum(sign.isalpha() for sign in text) >= len(text.replace(" ", "")) * 0.8]
