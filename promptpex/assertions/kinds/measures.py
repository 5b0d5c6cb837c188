"""The kinds that look at how the output came about: cost, latency, perplexity, finish-reason."""

from __future__ import annotations

import math

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.codecs.text.wording import quoted_json
from promptpex.core.translation import stored


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


KINDS = (
    Kind("cost", _limit, _cost, renders=False),
    Kind("latency", _limit, _latency, renders=False),
    Kind("perplexity", _optional_limit, _perplexity, renders=False, refuse=_demand_threshold),
    Kind("perplexity-score", _optional_limit, _perplexity_score, renders=False, refuse=_demand_threshold),
    Kind("finish-reason", _reason, _finish_reason),
)
