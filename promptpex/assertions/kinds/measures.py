"""The kinds that look at how the output came about: cost, latency, perplexity, finish-reason."""

from __future__ import annotations

import math

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.codecs.wording import quoted_json


def _limit(assertion: Assertion, value: object) -> float:
    if assertion.threshold is None:
        raise Unscorable("no-threshold", f"{assertion.kind} needs a threshold")
    return assertion.threshold


def _optional_limit(assertion: Assertion, value: object) -> float | None:
    return assertion.threshold


def _demand_threshold(assertion: Assertion) -> None:
    if assertion.threshold is None:
        raise Unscorable("no-threshold", f"{assertion.kind} needs a threshold; without one it passes whatever comes")


def _measured(value: object, code: str, what: str) -> float:
    if not js_values.is_number(value) or math.isnan(js_values.as_double(value)):
        raise Unscorable(code, f"{what} of this output is not known")
    return js_values.as_double(value)


def _cost(assertion: Assertion, limit: float, checked: CheckedOutput) -> KindResult:
    return _at_most(_measured(checked.cost, "no-cost", "the cost"), limit, "cost", "$", "")


def _latency(assertion: Assertion, limit: float, checked: CheckedOutput) -> KindResult:
    return _at_most(_measured(checked.latency_ms, "no-latency", "the latency"), limit, "latency", "", " ms")


def _at_most(value: float, limit: float, noun: str, before: str, after: str) -> KindResult:
    passed = value <= limit
    relation = "within" if passed else "over"
    return KindResult(passed, f"{noun} {before}{value:.6g}{after} is {relation} {before}{limit:.6g}{after}")


def _mean_logprob(checked: CheckedOutput) -> float:
    given = checked.logprobs
    if not isinstance(given, list | tuple) or not given or not all(js_values.is_number(item) for item in given):
        message = "the log-probabilities of this output are not known; a run asks for them by MODEL?logprobs=true"
        raise Unscorable("no-logprobs", message)
    total = 0.0
    for item in given:
        total += js_values.as_double(item)
    return total / len(given)


def _perplexity(assertion: Assertion, limit: float | None, checked: CheckedOutput) -> KindResult:
    perplexity = _exp(-_mean_logprob(checked))
    if limit is None:
        return KindResult(True, f"perplexity {perplexity:.6g}, no threshold", flips=False)
    return _at_most(perplexity, limit, "perplexity", "", "")


def _perplexity_score(assertion: Assertion, limit: float | None, checked: CheckedOutput) -> KindResult:
    score = 1 / (1 + _exp(-_mean_logprob(checked)))
    if limit is None:
        reported = 1 - score if assertion.negated else score
        return KindResult(True, f"perplexity score {score:.6g}, no threshold", reported, flips=False)
    passed = score >= limit
    return KindResult(passed, f"perplexity score {score:.6g} {'reaches' if passed else 'is below'} {limit:.6g}", score)


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
        return KindResult(False, "the provider gave no finish reason")
    same = checked.finish_reason.lower() == value.lower()
    wanted = "" if same else f", not {quoted_json(value)}"
    return KindResult(same, f"the finish reason is {quoted_json(checked.finish_reason)}{wanted}")


KINDS = (
    Kind("cost", _limit, _cost, renders=False),
    Kind("latency", _limit, _latency, renders=False),
    Kind("perplexity", _optional_limit, _perplexity, renders=False, refuse=_demand_threshold),
    Kind("perplexity-score", _optional_limit, _perplexity_score, renders=False, refuse=_demand_threshold),
    Kind("finish-reason", _reason, _finish_reason),
)
