"""The kind ``regex``: ECMAScript patterns without flags, or Python's by ``dialect: python``."""

from __future__ import annotations

from promptpex.assertions.javascript import v8
from promptpex.assertions.javascript.strikes import StrikeCounter
from promptpex.assertions.kinds.text import _filled
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.codecs.wording import quoted_json


def _pattern(assertion: Assertion, value: object) -> str:
    return _filled(assertion, value)


def _evaluate(assertion: Assertion, pattern: str, checked: CheckedOutput) -> KindResult:
    if assertion.dialect == "python":
        matches = python_search(pattern, checked.text)
    else:
        matches = v8.REGEXES.test(pattern, checked.text)
    return KindResult(matches, f"the pattern {quoted_json(pattern)} is {'found' if matches else 'not found'}")


def _verify(assertion: Assertion, pattern: str) -> None:
    if assertion.dialect == "python":
        python_search(pattern, "")
    else:
        v8.REGEXES.test(pattern, "")


_STRIKES = StrikeCounter()


def python_search(pattern: str, text: str) -> bool:
    """``re.search`` by the package regex, with limits on time and memory.

    Raises:
        Unscorable: ``bad-pattern``, ``timeout`` or ``memory``.
    """
    name = quoted_json(pattern)
    if _STRIKES.struck_out(pattern):
        raise Unscorable("timeout", f"the pattern {name} was not tried; it took too long too often before")
    answer = v8.search(pattern, text)
    kind = answer["kind"]
    _STRIKES.record(pattern, overran=kind in ("timeout", "memory"))
    if kind == "searched":
        return bool(answer["matches"])
    if kind == "bad":
        message = " ".join(answer["message"].split())[:200]
        raise Unscorable("bad-pattern", f"the pattern {name} does not compile: {message}")
    if kind == "memory":
        raise Unscorable("memory", f"the pattern {name} needs too much memory on this text")
    raise Unscorable("timeout", f"the pattern {name} took longer than {v8.MATCH_SECONDS:g} s on this text")


KINDS = (Kind("regex", _pattern, _evaluate, verify=_verify),)
