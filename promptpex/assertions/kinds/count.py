"""The kind ``word-count``: how many words, sentences, lines or characters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, CheckedOutput, KindResult, Unscorable
from promptpex.assertions.registry import Kind
from promptpex.core.sentences import split
from promptpex.core.translation import stored


@dataclass(frozen=True, slots=True)
class CountRange:
    """How many there may be, both ends included."""

    least: float
    most: float

    def words(self, counted: str, *, negated: bool) -> str:
        """What was counted and what is wanted, or under ``not-`` is not: ``24 words, 40 wanted``."""
        yes, no = self._templates()
        least, most = js_values.number_text(self.least), js_values.number_text(self.most)
        return (no if negated else yes).format(part=counted, least=least, most=most)

    def _templates(self) -> tuple[str, str]:
        if self.least == self.most:
            return stored("{part}, {least} wanted"), stored("{part}, {least} not wanted")
        if math.isinf(self.most):
            return stored("{part}, at least {least} wanted"), stored("{part}, at least {least} not wanted")
        if math.isinf(self.least):
            return stored("{part}, at most {most} wanted"), stored("{part}, at most {most} not wanted")
        return stored("{part}, {least} to {most} wanted"), stored("{part}, {least} to {most} not wanted")


def _bounds(assertion: Assertion, value: object) -> CountRange:
    if isinstance(value, Mapping):
        return _range(assertion, value)
    exact = _count(assertion, value)
    return CountRange(exact, exact)


def _range(assertion: Assertion, value: Mapping[str, object]) -> CountRange:
    if "min" not in value and "max" not in value:
        raise _bad(assertion)
    least = _count(assertion, value["min"]) if value.get("min") is not None else -math.inf
    most = _count(assertion, value["max"]) if value.get("max") is not None else math.inf
    if least > most:
        raise Unscorable("bad-value", f"the min of {assertion.kind} is greater than its max")
    return CountRange(least, most)


def _count(assertion: Assertion, value: object) -> float:
    number = js_values.to_number(value) if isinstance(value, str) else value
    if not js_values.is_number(number) or math.isnan(js_values.as_double(number)):
        raise _bad(assertion)
    return js_values.as_double(number)


def _bad(assertion: Assertion) -> Unscorable:
    return Unscorable("bad-value", f"{assertion.kind} needs a number, or min and max, as its value")


def _evaluate(assertion: Assertion, limits: CountRange, checked: CheckedOutput) -> KindResult:
    count = counted(checked.text, assertion.unit)
    one, several = _COUNTS[assertion.unit.removeprefix("spoken-")]
    counts = (one if count == 1 else several).format(count=count)
    return KindResult(limits.least <= count <= limits.most, limits.words(counts, negated=assertion.negated))


_COUNTS = {
    "words": (stored("{count} word"), stored("{count} words")),
    "sentences": (stored("{count} sentence"), stored("{count} sentences")),
    "lines": (stored("{count} line"), stored("{count} lines")),
    "characters": (stored("{count} character"), stored("{count} characters")),
}


def counted(text: str, unit: str) -> int:
    """How many of the unit the text has.

    Words are runs between JavaScript's blanks, as promptfoo counts them; spoken words are runs between blanks and
    dashes (— and --) that hold a letter or digit, so that a lone dash, a bullet or an emoji does not count;
    characters are Unicode code points; lines are those that are not blank; sentences are those of ``core.sentences``,
    and a text without a mark that ends one is one sentence.
    """
    if unit == "characters":
        return len(text)
    if unit == "lines":
        return sum(1 for line in re.split("\r\n|[\n\r\u2028\u2029]", text) if js_values.trim(line))
    if unit == "sentences":
        return sum(1 for part in split(text, small_letters=True) if _WORD.search(part))
    if unit == "spoken-words":
        return sum(1 for part in _SPOKEN.split(text) if _WORD.search(part))
    return len(js_values.words(text))


_WORD = re.compile(r"[^\W_]")
_SPOKEN = re.compile(r"\s+|—+|-{2,}")

KINDS = (Kind("word-count", _bounds, _evaluate),)
