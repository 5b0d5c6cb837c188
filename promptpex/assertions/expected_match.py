"""Whether an output is the expected one, by code: the comparisons of ``core.matching`` but ``asked``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from promptpex.assertions.model import ExpectedOutput, Unscorable
from promptpex.codecs.model_json import ReplyError, read_json_reply
from promptpex.codecs.text.comparing import normalised
from promptpex.codecs.text.wording import quoted_json
from promptpex.core.match_kinds import ASKED, match_name
from promptpex.core.translation import stored

LONGEST_NUMBER = 400
"""Characters of a number at most; no double has more digits."""

_BULLET = re.compile(r"\s*(?:[-*•–]|\d{1,4}[.)])\s+")
_NUMBER = re.compile(
    r"(?<![\w.,−-])[-+−]?+(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?+(?:[eE][-+]?\d{1,3}+)?+(?![\w]|[.,]\d|[-–]\d)"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether an output is the expected one, and why in words."""

    right: bool
    reason: str


def compare(output: str, expected: ExpectedOutput) -> Comparison:
    """Compares an output with the expected one, or those; in time linear in their lengths.

    Raises:
        Unscorable: code ``bad-expected``: this comparison cannot use the expected output;
            ``needs-judge``: a judge makes the comparison.
    """
    results = [_compared(output, text, match_name(expected.match)) for text in expected.all]
    right = next((result for result in results if result.right), None)
    if right is not None or not expected.others:
        return right or results[0]
    return Comparison(
        False, stored("{reason} or one of {count} more", reason=results[0].reason, count=len(expected.others))
    )


def _compared(output: str, expected: str, match: str) -> Comparison:
    kind, _, tolerance = match.partition(":")
    if kind == ASKED:
        raise Unscorable("needs-judge", stored("a judge compares the output with the expected one; code does not"))
    if kind == "numeric":
        return _numeric(output, expected, tolerance)
    return _COMPARISONS[kind](output, expected)


def _exact(output: str, expected: str) -> Comparison:
    return _outcome(output.rstrip("\r\n") == expected.rstrip("\r\n"), output, expected)


def _normalised(output: str, expected: str) -> Comparison:
    return _outcome(normalised(output) == normalised(expected), output, expected)


def _outcome(right: bool, output: str, expected: str) -> Comparison:
    if right:
        return Comparison(True, stored("the output is the expected {quoted}", quoted=quoted_json(expected)))
    is_another = stored(
        "the output is {quoted}, expected is {quoted_expected}",
        quoted=quoted_json(output),
        quoted_expected=quoted_json(expected),
    )
    return Comparison(False, is_another)


def _json(output: str, expected: str) -> Comparison:
    expected_value = _json_value(expected)
    if expected_value is None:
        raise Unscorable(
            "bad-expected", stored("the expected output {quoted} is not JSON", quoted=quoted_json(expected))
        )
    output_value = _json_value(output)
    if output_value is None:
        none = stored("the output holds no single JSON value, expected is {quoted}", quoted=quoted_json(expected))
        return Comparison(False, none)
    return _outcome(_canonical(output_value[0]) == _canonical(expected_value[0]), output, expected)


def _json_value(text: str) -> tuple[Any] | None:
    """The JSON value of a text, whatever stands around it, in a tuple; None where there is none that is sound."""
    try:
        reply = read_json_reply(text)
    except ReplyError:
        return None
    return None if reply.repaired else (reply.value,)


def _canonical(value: Any) -> Any:
    """A value such that two JSON values are equal where theirs are: numbers by value, keys in any order, and no
    boolean that is a number."""
    if isinstance(value, Mapping):
        return ("object", frozenset((key, _canonical(each)) for key, each in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(_canonical, value)))
    return (type(value) if isinstance(value, bool | str | None) else "number", value)


def _set(output: str, expected: str) -> Comparison:
    output_items, expected_items = _items(output), _items(expected)
    if output_items == expected_items:
        return Comparison(
            True, stored("the output holds the expected {quoted} in any order", quoted=quoted_json(expected))
        )
    missing, surplus = sorted(map(str, expected_items - output_items)), sorted(map(str, output_items - expected_items))
    return Comparison(False, _differing(quoted_json(", ".join(missing)), quoted_json(", ".join(surplus))))


def _differing(missing: str, surplus: str) -> str:
    if surplus == _NONE:
        return stored("the output lacks {quoted}", quoted=missing)
    if missing == _NONE:
        return stored("the output adds {quoted}", quoted=surplus)
    return stored("the output lacks {quoted} and adds {quoted_surplus}", quoted=missing, quoted_surplus=surplus)


_NONE = quoted_json("")


def _items(text: str) -> frozenset[str]:
    """The items of a text: of its JSON array, else its lines, else what is between commas; each normalised."""
    value = _json_value(text)
    if value is not None and isinstance(value[0], list):
        return frozenset(normalised(item) if isinstance(item, str) else _dumped(item) for item in value[0])
    lines = [line for line in text.splitlines() if line.strip()]
    parts = [_without_bullet(line) for line in lines] if len(lines) > 1 else text.split(",")
    return frozenset(filter(None, map(normalised, parts)))


def _without_bullet(line: str) -> str:
    bullet = _BULLET.match(line)
    return line if bullet is None else line[bullet.end() :]


def _dumped(item: Any) -> str:
    return json.dumps(item, sort_keys=True, ensure_ascii=False)


def _numeric(output: str, expected: str, tolerance: str) -> Comparison:
    expected_numbers = _numbers(expected)
    if len(expected_numbers) != 1:
        raise Unscorable(
            "bad-expected", stored("the expected output {quoted} is not one number", quoted=quoted_json(expected))
        )
    output_numbers = _numbers(output)
    if len(output_numbers) != 1:
        several = stored("the output {quoted} holds several numbers, expected is {quoted_expected}")
        none = stored("the output {quoted} holds no number, expected is {quoted_expected}")
        texts = {"quoted": quoted_json(output), "quoted_expected": quoted_json(expected)}
        return Comparison(False, (several if output_numbers else none).format(**texts))
    with localcontext(prec=2 * LONGEST_NUMBER) as context:
        context.clear_traps()
        allowed = Decimal(tolerance.rstrip("%") or 0)
        allowed = allowed / 100 * abs(expected_numbers[0]) if tolerance.endswith("%") else allowed
        return _outcome(abs(output_numbers[0] - expected_numbers[0]) <= allowed, output, expected)


def _numbers(text: str) -> list[Decimal]:
    numbers: list[Decimal] = []
    for match in _NUMBER.finditer(text):
        if len(match[0]) <= LONGEST_NUMBER:
            number = Decimal(match[0].replace(",", "").replace("−", "-"))
            numbers += [number] if number not in numbers else []
        if len(numbers) > 1:
            break
    return numbers


_COMPARISONS: Mapping[str, Callable[[str, str], Comparison]] = {
    "exact": _exact,
    "normalised": _normalised,
    "json": _json,
    "set": _set,
}
