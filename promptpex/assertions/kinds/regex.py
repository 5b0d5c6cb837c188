"""The kind ``regex``: ECMAScript patterns without flags, or another dialect.

``dialect: unicode`` reads them with the flag ``u``, in which ``\\p{L}`` is a letter and an emoji one character, as
schemas do; ``dialect: python`` is the package regex's.
"""

from __future__ import annotations

from promptpex.assertions.javascript import v8
from promptpex.assertions.kinds.text import required_text
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.assertions.strikes import StrikeCounter
from promptpex.codecs.text.wording import around, beginning, quoted_json
from promptpex.core.translation import stored


def _pattern(assertion: Assertion, value: object) -> str:
    return required_text(assertion, value)


def _evaluate(assertion: Assertion, pattern: str, checked: CheckedOutput) -> KindResult:
    text, quoted = checked.text, quoted_json(pattern)
    place = _search(assertion, pattern, text)
    if place is None:
        reason = stored("the pattern {quoted} is not found in {excerpt}", quoted=quoted, excerpt=beginning(text))
    elif text.strip():
        reason = stored("{excerpt} matches the pattern {quoted}", excerpt=around(text, *place), quoted=quoted)
    else:
        reason = stored("the pattern {quoted} is found in {excerpt}", quoted=quoted, excerpt=beginning(text))
    return KindResult(place is not None, reason)


def _verify(assertion: Assertion, pattern: str) -> None:
    _search(assertion, pattern, "")


def _search(assertion: Assertion, pattern: str, text: str) -> v8.Place | None:
    if assertion.dialect == "python":
        return python_search(f"(?i){pattern}" if assertion.ignore_case else pattern, text)
    return v8.REGEXES.find(pattern, text, assertion.flags)


_STRIKES = StrikeCounter()


def python_search(pattern: str, text: str) -> v8.Place | None:
    """Where ``re.search`` of the package regex finds the pattern, with limits on time and memory.

    Raises:
        Unscorable: ``bad-pattern``, ``timeout`` or ``memory``.
    """
    name = quoted_json(pattern)
    if _STRIKES.struck_out(pattern):
        raise Unscorable(
            "timeout", stored("the pattern {quoted} was not tried; it took too long too often before", quoted=name)
        )
    answer = v8.search(pattern, text)
    kind = answer["kind"]
    _STRIKES.record(pattern, overran=kind in ("timeout", "memory"))
    if kind == "searched":
        place = answer["place"]
        return None if place is None else (place[0], place[1])
    if kind == "bad":
        message = " ".join(answer["message"].split())[:200]
        raise Unscorable("bad-pattern", v8.IS_NONE.format(quoted=name, detail=message))
    if kind == "memory":
        raise Unscorable("memory", stored("the pattern {quoted} needs too much memory on this text", quoted=name))
    raise Unscorable("timeout", v8.TOOK_LONG.format(quoted=name, seconds=f"{v8.MATCH_SECONDS:g}"))


KINDS = (Kind("regex", _pattern, _evaluate, verify=_verify),)
