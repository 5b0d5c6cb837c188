"""The kind ``regex``: ECMAScript patterns without flags, or Python's by ``dialect: python``."""

from __future__ import annotations

from typing import Any

from promptpex.assertions.javascript import v8
from promptpex.assertions.javascript.strikes import Patience
from promptpex.assertions.kinds.text import _filled
from promptpex.assertions.model import Assertion, Facts, Judged, Unscorable
from promptpex.assertions.quoting import shown
from promptpex.assertions.registry import Kind


def _pattern(assertion: Assertion, value: Any) -> str:
    return _filled(assertion, value)


def _judge(assertion: Assertion, pattern: str, facts: Facts) -> Judged:
    if assertion.dialect == "python":
        found = python_search(pattern, facts.text)
    else:
        found = v8.REGEXES.test(pattern, facts.text)
    return Judged(found, f"the pattern {shown(pattern)} is {'found' if found else 'not found'}")


def _verify(assertion: Assertion, pattern: str) -> None:
    if assertion.dialect == "python":
        python_search(pattern, "")
    else:
        v8.REGEXES.test(pattern, "")


_PATIENCE = Patience()


def python_search(pattern: str, text: str) -> bool:
    """``re.search`` by the package regex, with limits on time and memory.

    Raises:
        Unscorable: ``bad-pattern``, ``timeout`` or ``memory``.
    """
    if _PATIENCE.lost(pattern):
        raise Unscorable("timeout", f"the pattern {shown(pattern)} was not tried; it took too long too often before")
    answer = v8.search(pattern, text)
    kind = answer["kind"]
    _PATIENCE.tell(pattern, overran=kind in ("timeout", "memory"))
    if kind == "found":
        return bool(answer["found"])
    if kind == "bad":
        message = " ".join(answer["message"].split())[:200]
        raise Unscorable("bad-pattern", f"the pattern {shown(pattern)} does not compile: {message}")
    if kind == "memory":
        raise Unscorable("memory", f"the pattern {shown(pattern)} needs too much memory on this text")
    raise Unscorable("timeout", f"the pattern {shown(pattern)} took longer than {v8.MATCH_SECONDS:g} s on this text")


KINDS = (Kind("regex", _pattern, _judge, verify=_verify),)
