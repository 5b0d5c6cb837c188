"""The kind ``word-count``: how many words, sentences, lines or characters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.codecs.wording import plural


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many there may be, both ends included."""

    least: float
    most: float

    def words(self) -> str:
        least, most = js_values.number_text(self.least), js_values.number_text(self.most)
        if self.least == self.most:
            return f"exactly {least}"
        if math.isinf(self.most):
            return f"at least {least}"
        return f"at most {most}" if math.isinf(self.least) else f"{least} to {most}"


def _bounds(assertion: Assertion, value: object) -> Bounds:
    if isinstance(value, Mapping):
        return _range(assertion, value)
    exact = _count(assertion, value)
    return Bounds(exact, exact)


def _range(assertion: Assertion, value: Mapping[str, object]) -> Bounds:
    if "min" not in value and "max" not in value:
        raise _bad(assertion)
    least = _count(assertion, value["min"]) if value.get("min") is not None else -math.inf
    most = _count(assertion, value["max"]) if value.get("max") is not None else math.inf
    if least > most:
        raise Unscorable("bad-value", f"the min of {assertion.kind} is greater than its max")
    return Bounds(least, most)


def _count(assertion: Assertion, value: object) -> float:
    number = js_values.to_number(value) if isinstance(value, str) else value
    if not js_values.is_number(number) or math.isnan(js_values.as_double(number)):
        raise _bad(assertion)
    return js_values.as_double(number)


def _bad(assertion: Assertion) -> Unscorable:
    return Unscorable("bad-value", f"{assertion.kind} needs a number, or min and max, as its value")


def _evaluate(assertion: Assertion, bounds: Bounds, checked: CheckedOutput) -> KindResult:
    count = counted(checked.text, assertion.unit)
    passed = bounds.least <= count <= bounds.most
    found = plural(count, assertion.unit.removesuffix("s"))
    return KindResult(passed, f"the output has {found}, {'as' if passed else 'not'} {bounds.words()} wanted")


def counted(text: str, unit: str) -> int:
    """How many of the unit the text has.

    Words are runs between JavaScript's blanks; characters are Unicode code points; lines are those that are not
    blank; sentences end with ``.``, ``!``, ``?`` or their full-width forms before a blank or the end, and a text
    without any such mark is one sentence.
    """
    if unit == "characters":
        return len(text)
    if unit == "lines":
        return sum(1 for line in re.split("\r\n|[\n\r\u2028\u2029]", text) if js_values.trim(line))
    if unit == "sentences":
        return sentences(text)
    return len(js_values.words(text))


_ABBREVIATION = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|cf|No|Inc|Ltd|Co|approx|Fig|al)\.$|\b[A-Z]\.$", re.I
)
_SENTENCE_END = re.compile("(?<![.!?…])[.!?…]++[\"'”’)\\]]*+(?=\\s)|[。！？]++[」』”’）]*+")
_WORD = re.compile(r"\w")


def sentences(text: str) -> int:
    """Sentences, counted by their closing marks; common abbreviations and initials do not close one."""
    body = text.strip()
    if not body:
        return 0
    count, start, word = 0, 0, _next_word(body, 0)
    for match in _SENTENCE_END.finditer(body):
        end = match.end()
        if word >= end or _ABBREVIATION.search(body[max(start, end - 12) : end]):
            continue
        count, start, word = count + 1, end, _next_word(body, end)
    return count + (1 if word < len(body) else 0)


def _next_word(text: str, start: int) -> int:
    """Where the next letter or digit stands; the text's length where none does."""
    match = _WORD.search(text, start)
    return len(text) if match is None else match.start()


KINDS = (Kind("word-count", _bounds, _evaluate),)
