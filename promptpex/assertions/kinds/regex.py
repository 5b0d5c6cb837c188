"""The kind ``regex``: ECMAScript patterns without flags, or another dialect.

``dialect: unicode`` reads them with the flag ``u``, in which ``\\p{L}`` is a letter and an emoji one character, as
schemas do; ``dialect: python`` is the package regex's.
"""

from __future__ import annotations

from promptpex.assertions.javascript import v8
from promptpex.assertions.kinds.text import filled
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.assertions.strikes import StrikeCounter
from promptpex.codecs.wording import beginning, quoted_json


def _pattern(assertion: Assertion, value: object) -> str:
    return filled(assertion, value)


def _evaluate(assertion: Assertion, pattern: str, checked: CheckedOutput) -> KindResult:
    matches = _search(assertion, pattern, checked.text)
    outcome = f"is {'' if matches else 'not '}found in {beginning(checked.text)}"
    return KindResult(matches, f"the pattern {quoted_json(pattern)} {outcome}")


def _verify(assertion: Assertion, pattern: str) -> None:
    _search(assertion, pattern, "")


def _search(assertion: Assertion, pattern: str, text: str) -> bool:
    if assertion.dialect == "python":
        return python_search(f"(?i){pattern}" if assertion.ignore_case else pattern, text)
    return v8.REGEXES.test(pattern, text, assertion.flags)


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
