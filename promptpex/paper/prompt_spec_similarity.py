"""How alike the outputs of a prompt and of its spec are: the cosine of their word counts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from promptpex.core.records import Run

_WORD = re.compile(r"\w+", re.UNICODE)


def cosines(run: Run, by_spec: Run | None) -> dict[str, tuple[float, ...]]:
    """Per model, the similarity of the answers of prompt and spec, from 0 to 1, for each output that both have."""
    if by_spec is None:
        return {}
    texts = {output.key: output.text for output in by_spec.outputs if output.error is None}
    by_model: dict[str, list[float]] = {model: [] for model in run.manifest.models}
    for output in run.outputs:
        other = texts.get(output.key)
        if output.error is None and other is not None:
            by_model[output.model].append(word_cosine(output.text or "", other))
    return {model: tuple(values) for model, values in by_model.items()}


def word_cosine(first: str, second: str) -> float:
    """Cosine of the two texts' word counts, case folded, from 0 to 1; 1 for two texts without any word.

    Texts in scripts that do not separate words are counted by character.
    """
    a, b = _counts(first), _counts(second)
    if not a or not b:
        return 1.0 if a == b else 0.0
    dot = sum(count * b[word] for word, count in a.items())
    return dot / math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))


def _counts(text: str) -> Counter[str]:
    words = _WORD.findall(text.casefold())
    unspaced = [letter for word in words for letter in word] if _unspaced(words) else words
    return Counter(unspaced)


def _unspaced(words: Sequence[str]) -> bool:
    """Whether the words look like whole sentences, as in Chinese, Japanese or Thai."""
    foreign = [word for word in words if any(ord(letter) > 0x0E00 for letter in word)]
    return bool(foreign) and sum(map(len, foreign)) / len(foreign) > 6
