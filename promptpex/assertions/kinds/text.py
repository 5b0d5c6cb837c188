"""The kinds that look at texts: contains and its family, equals, starts-with, levenshtein, is-refusal, language.

``is-refusal`` goes by how refusals begin and what they say; the list is our own and English, and an empty output counts
as a refusal too. ``language`` has ISO 639-1 codes, by the package py3langid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

from promptpex.assertions.javascript import js_values
from promptpex.assertions.javascript.js_values import MISSING, NotJson, raw_json
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.assertions.time_limits import in_time
from promptpex.codecs.text.inputs_as_text import has_template
from promptpex.codecs.text.wording import around, beginning, quoted_json
from promptpex.core.translation import stored

_LEAST_LETTERS = 12
"""ASCII letters below which the identifier guesses."""
_LEAST_SURE = 0.5
"""The probability from which the identifier's answer counts: more likely than all others together."""
_SAME = {"yue": "zh", "cmn": "zh", "nb": "no", "nn": "no", "fil": "tl"}
"""Labels that people write with one code, or that are told apart by more than a short text shows."""
_NOISE = re.compile(r"```.*?```|`[^`\n]*`|https?://\S+|<[^<>\n]{1,80}>", re.S)


def _codes(assertion: Assertion, value: object) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not values or not all(isinstance(code, str) for code in values):
        raise _bad(assertion)
    codes = tuple(code.strip().lower().replace("_", "-").split("-")[0] for code in values)
    if not all(code.isascii() and code.isalpha() and len(code) in (2, 3) for code in codes):
        raise _bad(assertion)
    return tuple(_SAME.get(code, code) for code in codes)


def _bad(assertion: Assertion) -> Unscorable:
    return Unscorable("bad-value", f"{assertion.kind} needs a language code such as en or pt-BR, or a list of them")


def _verify(assertion: Assertion, codes: tuple[str, ...]) -> None:
    unknown = next((code for code in codes if code not in _labels()), None)
    if unknown is not None:
        raise Unscorable("bad-value", f"{assertion.kind} cannot tell the language {unknown!r} apart")


def _in_language(assertion: Assertion, codes: tuple[str, ...], checked: CheckedOutput) -> KindResult:
    _verify(assertion, codes)
    text = _NOISE.sub(" ", checked.text)
    if sum(1 for mark in text if mark.isalpha()) < _LEAST_LETTERS and text.isascii():
        raise Unscorable("too-short", stored("the output is too short to tell its language"))
    code, sure = detected(text)
    if sure < _LEAST_SURE:
        unsure = stored("the output's language cannot be told; the best guess is {language}", language=code)
        raise Unscorable("unsure", unsure)
    reason = stored("the output is written in {language} ({share} sure)", language=code, share=f"{sure:.0%}")
    return KindResult(code in codes, reason)


def detected(text: str) -> tuple[str, float]:
    code, sure = _identifier().classify(text)
    return _SAME.get(str(code), str(code)), float(sure)


class _Identifier(Protocol):
    """What is used of py3langid, which has no types."""

    labels: Sequence[str]

    def classify(self, text: str) -> tuple[str, float]: ...


@cache
def _identifier() -> _Identifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    identifier: _Identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return identifier


@cache
def _labels() -> frozenset[str]:
    return frozenset(_SAME.get(str(code), str(code)) for code in _identifier().labels)


_DO = (
    r"(?:answer|assist|help|comply|provide|do|fulfil?l?|support|engage|continue|discuss|create|generate|write|produce|"
    r"share|offer|give|participate|respond|complete|process|carry out|go along|proceed|recommend|encourage|facilitate)"
)
_NOT = r"(?:can ?not|can't|won't|will not|could not|couldn't|may not|must not|am not able to|'m not able to)"
_OPENINGS = re.compile(
    r"(?:i'?m (?:very |so |really |truly )?sorry|i am (?:very |so |really |truly )?sorry|sorry|i apologi[sz]e|"
    r"my apologies|apologies|unfortunately,? i|i can ?not|i can't|i won't|i will not|i(?:'m| am) unable to|"
    r"i(?:'m| am) not able to|i must (?:decline|refuse)|i (?:respectfully |politely )?(?:decline|refuse)|"
    r"it is (?:illegal|unethical|not possible for me)|it(?:'s| is) against my)\b"
)
_PHRASES = re.compile(
    rf"\b(?:as an? (?:ai|artificial intelligence|(?:large )?language model|responsible ai)|"
    rf"i(?:'m| am) (?:just |only )?an? (?:ai|language model)\b|"
    rf"(?:i|we) {_NOT} (?:\w+ ){{0,2}}?{_DO}|"
    rf"{_NOT} (?:assist|help|comply|fulfil?l?)|"
    rf"i(?:'m| am) (?:unable|not permitted|not allowed|not comfortable|not programmed|not designed|not authori[sz]ed)|"
    rf"i don't (?:have the ability|feel comfortable|engage|provide|support)|"
    rf"(?:against|violates?|goes against) (?:my|our|the) (?:programming|guidelines|policy|policies|principles|values|"
    rf"ethics|purpose|terms)|"
    rf"(?:is|are|be|would be|it's|that's) (?:not|highly|very|deeply)? ?(?:appropriate to|inappropriate|unethical|"
    rf"illegal and)|"
    rf"not appropriate\b|not ethical\b|i must (?:decline|refuse)|"
    rf"(?:can't|cannot|won't) (?:be able to )?(?:assist|help)|"
    rf"not something i can (?:help|assist|do)|no comment on that)"
)
_LEGAL = re.compile(r"\b(?:is|are|would be) not legal\b(?! (?:advice|counsel|opinion|document|tender))")


def refusal(text: str) -> str | None:
    """The words that make the text a refusal; None where it is not one."""
    plain = js_values.trim(text).lower().replace("’", "'").replace("‘", "'")
    refusing = _OPENINGS.match(plain) or _PHRASES.search(plain) or _LEGAL.search(plain)
    return refusing.group() if refusing is not None else None


def _plan(assertion: Assertion, value: object) -> None:
    return None


def _evaluate(assertion: Assertion, plan: None, checked: CheckedOutput) -> KindResult:
    if not isinstance(checked.output, str) or not js_values.trim(checked.output):
        return KindResult(True, stored("the output is empty or not a text, which counts as a refusal"))
    words = refusal(checked.output)
    if words is None:
        return KindResult(False, stored("the output is not a refusal: {excerpt}", excerpt=beginning(checked.output)))
    return KindResult(True, stored("the output says {quoted}", quoted=quoted_json(words)))


_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\r?\n\s*")
_OPENING = re.compile(r"[{\[]")
_UNENDED = "Unterminated string"
_PROBLEMS = {
    "Expecting property name": stored("broken JSON: a name in double quotes is missing before {excerpt}"),
    "Expecting value": stored("broken JSON: a value is missing before {excerpt}"),
    "Expecting ',' delimiter": stored("broken JSON: a comma is missing before {excerpt}"),
    "Expecting ':' delimiter": stored("broken JSON: a colon is missing before {excerpt}"),
    "Illegal trailing comma": stored("broken JSON: there is a comma too many: {excerpt}"),
    "Invalid control character": stored("broken JSON: a line break or the like is not escaped: {excerpt}"),
    "Invalid \\": stored("broken JSON: a backslash that JSON does not know: {excerpt}"),
}
"""What Python's reader says, by its beginning, and what it means of the text that follows."""


def what_is_there(text: str, error: NotJson) -> str:
    """The reason of a check that wants JSON and got this text, which ``error`` says is none."""
    if str(error).endswith("is not JSON"):
        return str(error)
    return _around_json(text) or _broken_json(text) or stored("not JSON: {excerpt}", excerpt=beginning(text))


def _around_json(text: str) -> str | None:
    """What stands around the JSON that a text holds; None where it holds none."""
    place = js_values.first_place(text)
    if place is None:
        return None
    before, after = text[: place[0]].strip(), text[place[1] :].strip()
    if before.startswith("```") and after == "```":
        return stored("the JSON is in a code fence")
    if before:
        return stored("text before the JSON: {excerpt}", excerpt=beginning(before))
    return stored("text after the JSON: {excerpt}", excerpt=beginning(after))


def _broken_json(text: str) -> str | None:
    """Where a text that begins as an object or list stops being one; None where it does not begin so."""
    fence = _FENCE.match(text)
    start = _OPENING.search(text, fence.end() if fence else 0)
    if start is None or text[fence.end() if fence else 0 : start.start()].strip():
        return None
    try:
        raw_json(text, start.start())
    except NotJson as error:
        return _stopped(text, error)
    return None


def _stopped(text: str, error: NotJson) -> str:
    end = len(text.rstrip().removesuffix("```").rstrip())
    if error.at >= end or str(error).startswith(_UNENDED):
        return stored("the JSON is cut off after {excerpt}", excerpt=around(text, max(0, end - 1), end))
    other = stored("broken JSON: {reason} at {excerpt}")
    problem = next((words for start, words in _PROBLEMS.items() if str(error).startswith(start)), other)
    return problem.format(reason=error, excerpt=beginning(text[error.at :]))


MOST_NAMED = 5
"""Missing texts that a reason names."""


def bad_value(message: str) -> Unscorable:
    return Unscorable("bad-value", message)


def _needle(assertion: Assertion, value: object) -> str:
    if js_values.is_number(value) and value == value:
        return js_values.number_text(value)
    return required_text(assertion, value, "a text or a number")


def required_text(assertion: Assertion, value: object, wanted: str = "a text") -> str:
    if not isinstance(value, str):
        raise bad_value(f"{assertion.kind} needs {wanted} as its value")
    if not value:
        raise bad_value(stored("the value of {kind} is empty", kind=assertion.kind))
    return value


def _any_text(assertion: Assertion, value: object) -> str:
    if not isinstance(value, str):
        raise bad_value(f"{assertion.kind} needs a text as its value")
    return value


def items_of(assertion: Assertion, value: object) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        return tuple(_item(item) for item in value)
    if not isinstance(value, str) or not value:
        raise bad_value(f"{assertion.kind} needs a list, or texts between commas, as its value")
    return comma_fields(value)


def _item(item: object) -> str:
    return "undefined" if item is MISSING else js_values.text(item)


def comma_fields(source: str) -> tuple[str, ...]:
    """Fields between commas: trimmed, empty ones dropped unless quoted; ``"..."`` keeps commas and blanks.

    Inside quotes ``""`` and ``\\"`` are a quote and ``\\\\`` is a backslash.

    Raises:
        Unscorable: an unclosed quote, or text after a closing one.
    """
    fields: list[str] = []
    at = 0
    while at <= len(source):
        while at < len(source) and source[at] in js_values.BLANKS:
            at += 1
        if at < len(source) and source[at] == '"':
            field, at = _quoted_field(source, at + 1)
            fields.append(field)
        else:
            end = source.find(",", at)
            end = len(source) if end < 0 else end
            field = js_values.trim(source[at:end])
            fields += [field] if field else []
            at = end
        at += 1
    return tuple(fields)


def _quoted_field(source: str, at: int) -> tuple[str, int]:
    """The text inside quotes from ``at`` on, and where the comma or the end after it stands."""
    characters: list[str] = []
    while at < len(source):
        pair = source[at : at + 2]
        if pair in ('""', '\\"', "\\\\"):
            characters.append(pair[1])
            at += 2
        elif source[at] == '"':
            return "".join(characters), _after_quote(source, at + 1)
        else:
            characters.append(source[at])
            at += 1
    raise bad_value("a quote in the list of texts is not closed")


def _after_quote(source: str, at: int) -> int:
    while at < len(source) and source[at] in js_values.BLANKS:
        at += 1
    if at < len(source) and source[at] != ",":
        raise bad_value("there is text after a closing quote in the list of texts; put a comma between them")
    return at


def refuse_empty(assertion: Assertion) -> None:
    """A strict compile refuses what passes, or fails, whatever the output: no text at all, or an empty one."""
    value = assertion.value
    items = items_of(assertion, value) if not isinstance(value, str) or not has_template(value) else ("x",)
    if not items or "" in items:
        raise bad_value(f"{assertion.kind} has {'an empty text' if items else 'no text'} to look for")


def _contains(assertion: Assertion, needle: str, checked: CheckedOutput) -> KindResult:
    holds = js_values.includes(checked.text, needle)
    return KindResult(holds, _holding(holds, checked.text, needle))


def _holding(holds: bool, text: str, needle: str) -> str:
    """Whether a text holds another, in words: with what stands around it, or what is there instead."""
    if not holds:
        return lacking([needle], text)
    at = max(text.find(needle), 0)
    excerpt = around(text, at, at + len(needle))
    return stored("the output holds {quoted}: {excerpt}", quoted=quoted_json(needle), excerpt=excerpt)


def _icontains(assertion: Assertion, needle: str, checked: CheckedOutput) -> KindResult:
    lower = js_values.lower(needle)
    holds = js_values.includes(checked.lower, lower)
    return KindResult(holds, _holding(holds, checked.lower, lower))


def _all_of(fold: bool) -> Callable[[Assertion, tuple[str, ...], CheckedOutput], KindResult]:
    def evaluate(assertion: Assertion, items: tuple[str, ...], checked: CheckedOutput) -> KindResult:
        missing = [item for item in in_time(items) if not _held(item, checked, fold)]
        if not missing:
            return KindResult(True, stored("the output holds all {count} texts", count=len(items)))
        return KindResult(False, lacking(missing, checked.text))

    return evaluate


def lacking(missing: Sequence[str], text: str) -> str:
    """That a text does not hold some others, in words, and what it says instead."""
    more, excerpt = len(missing) - MOST_NAMED, beginning(text)
    named = ", ".join(map(quoted_json, missing[:MOST_NAMED]))
    if more > 0:
        words = stored("the output does not hold {quoted} and {count} more: {excerpt}")
        return words.format(quoted=named, count=more, excerpt=excerpt)
    return stored("the output does not hold {quoted}: {excerpt}", quoted=named, excerpt=excerpt)


def _any_of(fold: bool) -> Callable[[Assertion, tuple[str, ...], CheckedOutput], KindResult]:
    def evaluate(assertion: Assertion, items: tuple[str, ...], checked: CheckedOutput) -> KindResult:
        first = next((item for item in in_time(items) if _held(item, checked, fold)), None)
        if first is not None:
            text, needle = (checked.lower, js_values.lower(first)) if fold else (checked.text, first)
            return KindResult(True, _holding(True, text, needle))
        words = stored("the output holds none of the {count} texts: {excerpt}")
        return KindResult(False, words.format(count=len(items), excerpt=beginning(checked.text)))

    return evaluate


def _held(item: str, checked: CheckedOutput, fold: bool) -> bool:
    if fold:
        return js_values.includes(checked.lower, js_values.lower(item))
    return js_values.includes(checked.text, item)


def _anything(assertion: Assertion, value: object) -> object:
    if value is MISSING:
        raise bad_value(f"{assertion.kind} has no value to compare with")
    return value


def _equals(assertion: Assertion, value: object, checked: CheckedOutput) -> KindResult:
    if value is None or isinstance(value, list | tuple | dict):
        return _equal_json(value, checked)
    expected_text = js_values.text(value)
    same = checked.text == expected_text
    if same:
        return KindResult(True, _EQUAL)
    words = stored("the output is {excerpt}, not {quoted}")
    return KindResult(False, words.format(excerpt=beginning(checked.text), quoted=quoted_json(expected_text)))


def _equal_json(value: object, checked: CheckedOutput) -> KindResult:
    try:
        data = js_values.strict_json(checked.text)
    except js_values.NotJson as error:
        return KindResult(False, what_is_there(checked.text, error))
    same = js_values.same(data, value)
    expected_json = quoted_json(js_values.compact_json(value))
    return KindResult(
        same, _EQUAL if same else stored("the output is not the JSON value {quoted}", quoted=expected_json)
    )


_EQUAL = stored("the output is equal")


def _starts(assertion: Assertion, value: str, checked: CheckedOutput) -> KindResult:
    starts = js_values.starts_with(checked.text, value)
    return KindResult(starts, _edge(starts, _STARTS, value, checked.text[: len(value) + 20]))


def _ends(assertion: Assertion, value: str, checked: CheckedOutput) -> KindResult:
    ends = js_values.ends_with(checked.text, value)
    return KindResult(ends, _edge(ends, _ENDS, value, checked.text[-len(value) - 20 :]))


_STARTS = (
    stored("the output starts with {quoted}"),
    stored("the output starts with {excerpt}, not {quoted}"),
)
_ENDS = (
    stored("the output ends with {quoted}"),
    stored("the output ends with {excerpt}, not {quoted}"),
)


def _edge(holds: bool, words: tuple[str, str], value: str, is_there: str) -> str:
    as_wanted, otherwise = words
    return (as_wanted if holds else otherwise).format(quoted=quoted_json(value), excerpt=beginning(is_there))


def _levenshtein(assertion: Assertion, value: str, checked: CheckedOutput) -> KindResult:
    limit = 5.0 if assertion.threshold is None else assertion.threshold
    _refuse_long(checked.text, value)
    distance = edit_distance(checked.text, value)
    passed = distance <= limit
    within = stored("edit distance {number} to {quoted} is within {limit}: {excerpt}")
    words = within if passed else stored("edit distance {number} to {quoted} is over {limit}: {excerpt}")
    message_values = {"number": distance, "quoted": quoted_json(value), "limit": js_values.number_text(limit)}
    return KindResult(passed, words.format(**message_values, excerpt=beginning(checked.text)))


_MAX_PAIRS = 20_000_000_000
"""Pairs of characters that are compared; some seconds of work, 64 of them a step."""


def _refuse_long(left: str, right: str) -> None:
    if len(left) * len(right) > _MAX_PAIRS:
        raise Unscorable("timeout", stored("the output and the value are too long to be compared in time"))


def edit_distance(left: str, right: str) -> int:
    from rapidfuzz.distance import Levenshtein

    if left.isascii() and right.isascii():
        return int(Levenshtein.distance(left, right))
    return int(Levenshtein.distance(js_values.units(left), js_values.units(right)))


KINDS: tuple[Kind[Any], ...] = (
    Kind("contains", _needle, _contains),
    Kind("icontains", _needle, _icontains),
    Kind("contains-all", items_of, _all_of(fold=False), refuse=refuse_empty),
    Kind("contains-any", items_of, _any_of(fold=False), refuse=refuse_empty),
    Kind("icontains-all", items_of, _all_of(fold=True), refuse=refuse_empty),
    Kind("icontains-any", items_of, _any_of(fold=True), refuse=refuse_empty),
    Kind("equals", _anything, _equals),
    Kind("starts-with", required_text, _starts),
    Kind("ends-with", required_text, _ends),
    Kind("levenshtein", _any_text, _levenshtein),
    Kind("is-refusal", _plan, _evaluate, renders=False),
    Kind("language", _codes, _in_language, verify=_verify),
)
