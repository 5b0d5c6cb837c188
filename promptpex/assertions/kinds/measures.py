"""The kinds that measure: cost, latency, perplexity, finish-reason, counts, and how much of a reference is shared.

BLEU is Papineni et al. 2002, section 2.3, with the orders that a short text lacks left out and the weights shared among
the rest; GLEU is Wu et al. 2016, section 4.3; ROUGE is Lin 2004, sections 2 and 3, as F1.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, P, Unscorable
from promptpex.assertions.time_limits import in_time
from promptpex.codecs.text.wording import quoted_json
from promptpex.core.sentences import split
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
    prepared = _CONTRACTION.sub(r"\1 \2", text.replace("’", "'"))
    return [match.group().lower() for match in _SPLIT.finditer(prepared)][:_MAX_TOKENS]


def rouge_n(candidate: str, reference: str, order: int) -> float:
    grams, others = _grams(bank_tokens(candidate), order), _grams(bank_tokens(reference), order)
    return _f1((grams & others).total(), grams.total(), others.total())


def rouge_l(candidate: str, reference: str) -> float:
    from rapidfuzz.distance import LCSseq

    tokens, others = bank_tokens(candidate), bank_tokens(reference)
    return _f1(int(LCSseq.similarity(tokens, others)), len(tokens), len(others))


def _f1(shared: int, own: int, theirs: int) -> float:
    return 2 * shared / (own + theirs) if shared else 0.0


def _reaching(
    score_of: Callable[[Assertion, P, str], float], name: str, default: float
) -> Callable[[Assertion, P, CheckedOutput], KindResult]:
    def evaluate(assertion: Assertion, plan: P, checked: CheckedOutput) -> KindResult:
        limit = default if assertion.threshold is None else assertion.threshold
        score = score_of(assertion, plan, checked.text)
        passed = score >= limit
        words = stored("{part} {score} reaches {limit}") if passed else stored("{part} {score} is below {limit}")
        return KindResult(passed, words.format(part=name, score=f"{score:.4g}", limit=f"{limit:.6g}"), score)

    return evaluate


@dataclass(frozen=True, slots=True)
class CountRange:
    """How many there may be, both ends included."""

    least: float
    most: float

    def words(self, counted: str, *, negated: bool) -> str:
        yes, no = self._templates()
        least, most = js_values.number_text(self.least), js_values.number_text(self.most)
        return (no if negated else yes).format(part=counted, least=least, most=most)

    def _templates(self) -> tuple[str, str]:
        if self.least == self.most:
            return stored("{part}, {least} wanted"), stored("{part}, {least} not wanted")
        if math.isinf(self.most):
            return stored("{part}, at least {least} wanted"), stored("{part}, at least {least} not wanted")
        if math.isinf(self.least):
            return stored("{part}, at most {most} wanted"), stored("{part}, at most {most} not wanted")
        return stored("{part}, {least} to {most} wanted"), stored("{part}, {least} to {most} not wanted")


def _bounds(assertion: Assertion, value: object) -> CountRange:
    if isinstance(value, Mapping):
        return _range(assertion, value)
    exact = _count(assertion, value)
    return CountRange(exact, exact)


def _range(assertion: Assertion, value: Mapping[str, object]) -> CountRange:
    if "min" not in value and "max" not in value:
        raise _bad(assertion)
    least = _count(assertion, value["min"]) if value.get("min") is not None else -math.inf
    most = _count(assertion, value["max"]) if value.get("max") is not None else math.inf
    if least > most:
        raise Unscorable("bad-value", f"the min of {assertion.kind} is greater than its max")
    return CountRange(least, most)


def _count(assertion: Assertion, value: object) -> float:
    number = js_values.to_number(value) if isinstance(value, str) else value
    if not js_values.is_number(number) or math.isnan(js_values.as_double(number)):
        raise _bad(assertion)
    return js_values.as_double(number)


def _bad(assertion: Assertion) -> Unscorable:
    return Unscorable("bad-value", f"{assertion.kind} needs a number, or min and max, as its value")


def _evaluate(assertion: Assertion, limits: CountRange, checked: CheckedOutput) -> KindResult:
    count = counted(checked.text, assertion.unit)
    one, several = _COUNTS[assertion.unit.removeprefix("spoken-")]
    counts = (one if count == 1 else several).format(count=count)
    return KindResult(limits.least <= count <= limits.most, limits.words(counts, negated=assertion.negated))


_COUNTS = {
    "words": (stored("{count} word"), stored("{count} words")),
    "sentences": (stored("{count} sentence"), stored("{count} sentences")),
    "lines": (stored("{count} line"), stored("{count} lines")),
    "characters": (stored("{count} character"), stored("{count} characters")),
}


def counted(text: str, unit: str) -> int:
    """How many of the unit the text has.

    Words are runs between JavaScript's blanks, as promptfoo counts them; spoken words are runs between blanks and
    dashes (— and --) that hold a letter or digit, so that a lone dash, a bullet or an emoji does not count;
    characters are Unicode code points; lines are those that are not blank; sentences are those of ``core.sentences``,
    and a text without a mark that ends one is one sentence.
    """
    if unit == "characters":
        return len(text)
    if unit == "lines":
        return sum(1 for line in re.split("\r\n|[\n\r\u2028\u2029]", text) if js_values.trim(line))
    if unit == "sentences":
        return sum(1 for part in split(text, small_letters=True) if _WORD.search(part))
    if unit == "spoken-words":
        return sum(1 for part in _SPOKEN.split(text) if _WORD.search(part))
    return len(js_values.words(text))


_WORD = re.compile(r"[^\W_]")
_SPOKEN = re.compile(r"\s+|—+|-{2,}")


def _limit(assertion: Assertion, value: object) -> float:
    if assertion.threshold is None:
        raise Unscorable("no-threshold", f"{assertion.kind} needs a threshold")
    return assertion.threshold


def _optional_limit(assertion: Assertion, value: object) -> float | None:
    return assertion.threshold


def _demand_threshold(assertion: Assertion) -> None:
    if assertion.threshold is None:
        raise Unscorable("no-threshold", f"{assertion.kind} needs a threshold; without one it passes whatever comes")


def _measured(value: object, code: str, unknown: str) -> float:
    if not js_values.is_number(value) or math.isnan(js_values.as_double(value)):
        raise Unscorable(code, unknown)
    return js_values.as_double(value)


def _cost(assertion: Assertion, limit: float, checked: CheckedOutput) -> KindResult:
    cost = _measured(checked.cost, "no-cost", stored("the cost of this output is not known"))
    return _at_most(cost, limit, stored("cost ${number} is within ${limit}"), stored("cost ${number} is over ${limit}"))


def _latency(assertion: Assertion, limit: float, checked: CheckedOutput) -> KindResult:
    latency = _measured(checked.latency_ms, "no-latency", stored("the latency of this output is not known"))
    within = stored("latency {number} ms is within {limit} ms")
    return _at_most(latency, limit, within, stored("latency {number} ms is over {limit} ms"))


def _at_most(value: float, limit: float, within: str, over: str) -> KindResult:
    passed = value <= limit
    return KindResult(passed, (within if passed else over).format(number=f"{value:.6g}", limit=f"{limit:.6g}"))


def _mean_logprob(checked: CheckedOutput) -> float:
    logprobs = checked.logprobs
    if (
        not isinstance(logprobs, list | tuple)
        or not logprobs
        or not all(js_values.is_number(item) for item in logprobs)
    ):
        unknown = stored(
            "the log-probabilities of this output are not known; a run asks for them, and not every provider gives them"
        )
        raise Unscorable("no-logprobs", unknown)
    total = 0.0
    for item in logprobs:
        total += js_values.as_double(item)
    return total / len(logprobs)


def _perplexity(assertion: Assertion, limit: float | None, checked: CheckedOutput) -> KindResult:
    perplexity = _exp(-_mean_logprob(checked))
    if limit is None:
        return KindResult(True, stored("perplexity {number}, no threshold", number=f"{perplexity:.6g}"), flips=False)
    within = stored("perplexity {number} is within {limit}")
    return _at_most(perplexity, limit, within, stored("perplexity {number} is over {limit}"))


def _perplexity_score(assertion: Assertion, limit: float | None, checked: CheckedOutput) -> KindResult:
    score = 1 / (1 + _exp(-_mean_logprob(checked)))
    if limit is None:
        reported = 1 - score if assertion.negated else score
        reason = stored("perplexity score {score}, no threshold", score=f"{score:.6g}")
        return KindResult(True, reason, reported, flips=False)
    passed = score >= limit
    reached, below = (
        stored("perplexity score {score} reaches {limit}"),
        stored("perplexity score {score} is below {limit}"),
    )
    reason = (reached if passed else below).format(score=f"{score:.6g}", limit=f"{limit:.6g}")
    return KindResult(passed, reason, score)


def _exp(exponent: float) -> float:
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def _reason(assertion: Assertion, value: object) -> str:
    if not isinstance(value, str):
        raise Unscorable("bad-value", f"{assertion.kind} needs a text as its value")
    return value


def _finish_reason(assertion: Assertion, value: str, checked: CheckedOutput) -> KindResult:
    if not isinstance(checked.finish_reason, str):
        return KindResult(False, stored("the provider gave no finish reason"))
    same = checked.finish_reason.lower() == value.lower()
    actual_reason = quoted_json(checked.finish_reason)
    if same:
        return KindResult(True, stored("the finish reason is {quoted}", quoted=actual_reason))
    expected_reason = quoted_json(value)
    return KindResult(
        False,
        stored(
            "the finish reason is {quoted}, not {quoted_wanted}", quoted=actual_reason, quoted_wanted=expected_reason
        ),
    )


KINDS: tuple[Kind[Any], ...] = (
    Kind("cost", _limit, _cost, renders=False),
    Kind("latency", _limit, _latency, renders=False),
    Kind("perplexity", _optional_limit, _perplexity, renders=False, refuse=_demand_threshold),
    Kind("perplexity-score", _optional_limit, _perplexity_score, renders=False, refuse=_demand_threshold),
    Kind("finish-reason", _reason, _finish_reason),
    Kind("word-count", _bounds, _evaluate),
    Kind("bleu", _references, _reaching(lambda _, plan, text: bleu(text, plan), "BLEU", 0.5)),
    Kind("gleu", _references, _reaching(lambda _, plan, text: gleu(text, plan), "GLEU", 0.5)),
    Kind("rouge-n", _one_reference, _reaching(lambda check, plan, text: rouge_n(text, plan, check.n), "ROUGE-N", 0.75)),
    Kind("rouge-l", _one_reference, _reaching(lambda _, plan, text: rouge_l(text, plan), "ROUGE-L", 0.75)),
)
