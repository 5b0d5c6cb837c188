"""The kind ``regex``: ECMAScript patterns without flags, or Python's by ``dialect: python``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from promptpex.assertions import v8
from promptpex.assertions.model import Assertion, Facts, Judged, Unscorable
from promptpex.assertions.patience import Patience
from promptpex.assertions.registry import Kind
from promptpex.assertions.text_kinds import _filled
from promptpex.assertions.wording import shown


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
        _python_pattern(pattern)
    else:
        v8.REGEXES.test(pattern, "")


MAX_PATTERN = 50_000
"""Characters of a pattern of the python dialect; compiling one has no time limit of its own."""
_PATIENCE = Patience()


@lru_cache(maxsize=1024)
def _python_pattern(pattern: str) -> Any:
    import regex

    if len(pattern) > MAX_PATTERN:
        raise Unscorable("bad-pattern", f"the pattern {shown(pattern)} is longer than {MAX_PATTERN:,} characters")
    try:
        return regex.compile(pattern, regex.VERSION0)
    except (regex.error, RecursionError, OverflowError, ValueError, IndexError, KeyError, MemoryError) as error:
        raise Unscorable("bad-pattern", f"the pattern {shown(pattern)} does not compile: {error}") from error


def python_search(pattern: str, text: str) -> bool:
    """``re.search`` by the package regex, with a time limit.

    Raises:
        Unscorable: ``bad-pattern`` or ``timeout``.
    """
    compiled = _python_pattern(pattern)
    if _PATIENCE.lost(pattern):
        raise Unscorable("timeout", f"the pattern {shown(pattern)} was not tried; it took too long too often before")
    overran = True
    try:
        found = compiled.search(text, timeout=v8.MATCH_SECONDS) is not None
        overran = False
        return found
    except TimeoutError as error:
        message = f"the pattern {shown(pattern)} took longer than {v8.MATCH_SECONDS:g} s on this text"
        raise Unscorable("timeout", message) from error
    except (RecursionError, MemoryError) as error:
        raise Unscorable("memory", f"the pattern {shown(pattern)} needs too much memory on this text") from error
    finally:
        _PATIENCE.tell(pattern, overran)


KINDS = (Kind("regex", _pattern, _judge, verify=_verify),)
