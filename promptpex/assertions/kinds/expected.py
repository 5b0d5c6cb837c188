"""The kind ``expected``: whether the output is the case's expected one."""

from __future__ import annotations

from dataclasses import replace

from promptpex.assertions.expected_match import compare
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.core.match_kinds import ASKED, match_name
from promptpex.core.translation import stored


def _comparison(assertion: Assertion, value: object) -> str | None:
    """The comparison that the value names; None for the case's own."""
    if value is MISSING or value is None:
        return None
    try:
        named = match_name(value) if isinstance(value, str) else ""
    except ValueError as error:
        raise Unscorable("bad-value", str(error)) from error
    if named in ("", ASKED):
        raise Unscorable("bad-value", f"the value of {assertion.kind} names a comparison that code makes, such as json")
    return named


def _expected(assertion: Assertion, comparison: str | None, checked: CheckedOutput) -> KindResult:
    if checked.expected is None:
        raise Unscorable("no-expected", stored("there is no expected output to compare with"))
    result = compare(checked.text, replace(checked.expected, match=comparison or checked.expected.match))
    return KindResult(result.right, result.reason)


KINDS = (Kind("expected", plan=_comparison, evaluate=_expected, renders=False),)
