"""The kinds that measure how much of a reference the output shares: bleu, gleu, rouge-n, rouge-l.

BLEU is Papineni et al. 2002, section 2.3, with the orders that a short text lacks left out and the weights shared among
the rest; GLEU is Wu et al. 2016, section 4.3; ROUGE is Lin 2004, sections 2 and 3, as F1.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind, P
from promptpex.assertions.time_limits import in_time
from promptpex.core.translation import stored

_ORDERS = 4
"""N-grams of up to four words (Papineni et al. 2002, section 2.3)."""
_NEXT_TO_NOTHING = 1e-7
"""What an order without a match counts as, so that the mean of logarithms exists."""
_MAX_TOKENS = 20_000
"""Tokens that are compared; the longest common subsequence takes their square."""

Tokens = list[str]
Grams = Counter[tuple[str, ...]]


def _references(assertion: Assertion, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise Unscorable("bad-value", f"{assertion.kind} needs a reference text, or a list of them, as its value")


def _one_reference(assertion: Assertion, value: object) -> str:
    if not isinstance(value, str):
        raise Unscorable("bad-value", f"{assertion.kind} needs one reference text as its value")
    return value


def _tokens(text: str) -> Tokens:
    return js_values.words(text.lower())[:_MAX_TOKENS]


def _grams(tokens: Sequence[str], order: int) -> Grams:
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


def bleu(candidate: str, references: Sequence[str]) -> float:
    """BLEU of a text against references, 0..1; a blank text has 0."""
    tokens, others = _tokens(candidate), [_tokens(reference) for reference in references]
    if not tokens:
        return 0.0
    precisions = [_precision(tokens, others, order) for order in range(1, _ORDERS + 1) if len(tokens) >= order]
    mean = sum(math.log(precision or _NEXT_TO_NOTHING) for precision in precisions) / len(precisions)
    closest = min((len(other) for other in others), key=lambda length: (abs(length - len(tokens)), length))
    brevity = 1.0 if len(tokens) > closest else math.exp(1 - closest / len(tokens))
    return brevity * math.exp(mean)


def _precision(tokens: Tokens, references: Sequence[Tokens], order: int) -> float:
    """The best share of the text's n-grams found in a reference, each counted at most as often as there."""
    grams = _grams(tokens, order)
    return max((grams & _grams(reference, order)).total() for reference in in_time(references)) / grams.total()


def gleu(candidate: str, references: Sequence[str]) -> float:
    """Google-BLEU, 0..1: the smaller of precision and recall over all n-grams of 1 to 4; the best reference counts."""
    tokens = _without_stops(candidate)
    return max((_gleu(tokens, _without_stops(reference)) for reference in in_time(references)), default=0.0)


def _without_stops(text: str) -> Tokens:
    return [word for word in (token.rstrip(".") for token in _tokens(text)) if word]


def _gleu(tokens: Tokens, reference: Tokens) -> float:
    if not tokens or not reference:
        return 0.0
    if tokens == reference:
        return 1.0
    shared = own = reference_ngrams = 0
    for order in range(1, _ORDERS + 1):
        grams, others = _grams(tokens, order), _grams(reference, order)
        shared += (grams & others).total()
        own += grams.total()
        reference_ngrams += others.total()
    return min(shared / own, shared / reference_ngrams)


_CONTRACTION = re.compile(r"(?i)\b(\w+)(n't|'ll|'re|'ve|'s|'m|'d)\b")
_SPLIT = re.compile(r"n't|'(?:ll|re|ve|s|m|d)\b|\.\.\.|--|[\w]+(?:[-.,']\w+)*|[^\w\s]", re.I)


def bank_tokens(text: str) -> Tokens:
    """Tokens much like the Penn Treebank's, in lower case: punctuation apart, ``don't`` as ``do n't``."""
    prepared = _CONTRACTION.sub(r"\1 \2", text.replace("’", "'"))
    return [match.group().lower() for match in _SPLIT.finditer(prepared)][:_MAX_TOKENS]


def rouge_n(candidate: str, reference: str, order: int) -> float:
    """ROUGE-N as F1, 0..1."""
    grams, others = _grams(bank_tokens(candidate), order), _grams(bank_tokens(reference), order)
    return _f1((grams & others).total(), grams.total(), others.total())


def rouge_l(candidate: str, reference: str) -> float:
    """ROUGE-L as F1 over the longest common subsequence, 0..1."""
    from rapidfuzz.distance import LCSseq

    tokens, others = bank_tokens(candidate), bank_tokens(reference)
    return _f1(int(LCSseq.similarity(tokens, others)), len(tokens), len(others))


def _f1(shared: int, own: int, theirs: int) -> float:
    return 2 * shared / (own + theirs) if shared else 0.0


def _measured(
    score_of: Callable[[Assertion, P, str], float], name: str, default: float
) -> Callable[[Assertion, P, CheckedOutput], KindResult]:
    def evaluate(assertion: Assertion, plan: P, checked: CheckedOutput) -> KindResult:
        limit = default if assertion.threshold is None else assertion.threshold
        score = score_of(assertion, plan, checked.text)
        passed = score >= limit
        words = stored("{part} {score} reaches {limit}") if passed else stored("{part} {score} is below {limit}")
        return KindResult(passed, words.format(part=name, score=f"{score:.4g}", limit=f"{limit:.6g}"), score)

    return evaluate


KINDS = (
    Kind("bleu", _references, _measured(lambda _, plan, text: bleu(text, plan), "BLEU", 0.5)),
    Kind("gleu", _references, _measured(lambda _, plan, text: gleu(text, plan), "GLEU", 0.5)),
    Kind("rouge-n", _one_reference, _measured(lambda check, plan, text: rouge_n(text, plan, check.n), "ROUGE-N", 0.75)),
    Kind("rouge-l", _one_reference, _measured(lambda _, plan, text: rouge_l(text, plan), "ROUGE-L", 0.75)),
)
