"""The kind ``javascript``, and the ``transform`` of the others: scripts in V8 without any host object."""

from __future__ import annotations

import math

from promptpex.assertions.javascript import js_values, v8
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.core.sentences import on_one_line
from promptpex.core.translation import stored

SCORE_WORDS = stored("the script's score")
"""What the reason begins with where a script gave a number."""
NO_VERDICT = ", which is not a verdict"
"""What the reason ends with where a script or code gave neither true or false nor a number nor an object with them."""

_DECLARATIONS = ("const", "let", "var")


def function_body(source: str) -> str:
    """The body of the function that promptfoo makes of a script.

    A script of several lines is a body and needs its ``return``. One line is an expression; after a declaration, what
    follows the last semicolon outside of quotes is what is returned.
    """
    script = js_values.trim_end(source)
    if "\n" in script:
        return script
    script = js_values.trim(script)
    while script.endswith(";"):
        script = js_values.trim_end(script[:-1])
    if not _declares(script):
        return f"return {script}\n"
    last = _last_semicolon(script)
    rest = js_values.trim(script[last + 1 :]) if last >= 0 else ""
    return f"{script[: last + 1]} return {rest}\n" if rest else script


def _declares(script: str) -> bool:
    return any(script.startswith(word) and script[len(word) : len(word) + 1] in _BLANKS for word in _DECLARATIONS)


_BLANKS = frozenset(js_values.BLANKS)


def _last_semicolon(script: str) -> int:
    """Where the last semicolon outside of quotes stands; -1 = there is none."""
    quote, last, at = "", -1, 0
    while at < len(script):
        mark = script[at]
        if quote:
            at += 1 if mark == "\\" else 0
            quote = "" if mark == quote else quote
        elif mark in "'\"`":
            quote = mark
        elif mark == ";":
            last = at
        at += 1
    return last


def _script(assertion: Assertion, value: object) -> str | None:
    """The body; None where the value is not a text, which fails in both forms as in promptfoo."""
    return function_body(value) if isinstance(value, str) else None


def _refuse(assertion: Assertion) -> None:
    if not isinstance(assertion.value, str) or not js_values.trim(assertion.value):
        raise Unscorable("bad-value", f"{assertion.kind} needs a script as its value")


def _evaluate(assertion: Assertion, body: str | None, checked: CheckedOutput) -> KindResult:
    if body is None:
        return KindResult(False, stored("the value is not a script"), flips=False)
    answer = v8.run_script(body, checked.output, context_of(assertion, checked))
    kind = answer["kind"]
    if kind == "boolean":
        return KindResult(answer["pass"], stored("the script gave {answer}", answer=js_values.text(answer["pass"])))
    if kind == "number":
        return by_number(assertion, float(answer["score"]), SCORE_WORDS)
    if kind == "object":
        score = float(answer["score"])
        return KindResult(answer["pass"], reason_given(answer["reason"]), score, inverts=False, named=answer["named"])
    if kind == "other":
        no_verdict = stored("the script gave {answer}, which is not a verdict", answer=answer["message"])
        return KindResult(False, no_verdict, flips=False)
    raise _failure(answer)


def by_number(assertion: Assertion, score: float, words: str) -> KindResult:
    """The verdict of a script or code that gave a number: whether it reaches the threshold, or is above 0."""
    if assertion.threshold is not None:
        passed = score >= assertion.threshold
        bound = stored("{part} {score} reaches {limit}") if passed else stored("{part} {score} is below {limit}")
    else:
        passed = score > 0
        bound = stored("{part} {score} is above 0") if passed else stored("{part} {score} is not above 0")
    score_text = "NaN" if math.isnan(score) else js_values.number_text(score)
    reason = bound.format(part=words, score=score_text, limit=f"{assertion.threshold or 0:.6g}")
    return KindResult(passed, reason, score, inverts=False)


def reason_given(reason: str) -> str:
    return on_one_line(reason)[:300] or stored("the script gave no reason")


def _failure(answer: dict[str, object]) -> Unscorable:
    kind = answer["kind"]
    if kind == "timeout":
        return Unscorable(
            "timeout", stored("the script took longer than {seconds} s", seconds=f"{v8.SCRIPT_SECONDS:g}")
        )
    if kind == "given-up":
        return Unscorable("timeout", stored("the script was not tried; it went over its limits too often before"))
    if kind == "memory":
        return Unscorable("memory", stored("the script needed too much memory"))
    if kind == "stuck":
        return Unscorable("script-error", stored("the script waits for a promise that nothing settles"))
    threw = stored("the script threw {error}", error=reason_given(str(answer.get("message", ""))))
    return Unscorable("script-error", threw)


def context_of(assertion: Assertion, checked: CheckedOutput) -> dict[str, object]:
    """What a script sees as ``context``: data alone, no host object."""
    response = {"output": checked.output, "cost": checked.cost, "latencyMs": checked.latency_ms}
    response |= {"logProbs": checked.logprobs, "finishReason": checked.finish_reason}
    context: dict[str, object] = {
        "vars": dict(checked.vars),
        "prompt": checked.prompt,
        "test": {"vars": dict(checked.vars), "assert": [_plain(item) for item in checked.asserts]},
        "logProbs": checked.logprobs,
        "providerResponse": {key: value for key, value in response.items() if value is not None},
        "config": assertion.config,
        "metadata": checked.metadata,
    }
    return {key: json_ready(value) for key, value in context.items() if value is not None}


def _plain(item: object) -> object:
    return item.to_dict() if hasattr(item, "to_dict") else item


def json_ready(value: object) -> object:
    """The data with what JSON does not have written as JavaScript would."""
    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items() if item is not MISSING}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(js_values.as_double(value)) else None
    return str(value)


def transformed(expression: str, checked: CheckedOutput) -> object:
    """What ``transform`` makes of the output: the value of an expression over ``output`` and ``context``.

    Raises:
        Unscorable: ``script-error``, ``timeout`` or ``memory``.
    """
    body = function_body(expression)
    answer = v8.run_script(body, checked.output, context_of(_NO_ASSERTION, checked), mode="transform")
    if answer["kind"] == "value":
        try:
            return js_values.strict_json(answer["json"])
        except js_values.NotJson as error:
            too_deep = stored("the transform gave a value that nests too deep to be read")
            raise Unscorable("script-error", too_deep) from error
    if answer["kind"] == "other":
        raise Unscorable("script-error", stored("the transform gave {answer}", answer=answer["message"]))
    raise _failure(answer)


_NO_ASSERTION = Assertion(kind="javascript")

KINDS = (Kind("javascript", _script, _evaluate, renders_inside=False, refuse=_refuse),)
