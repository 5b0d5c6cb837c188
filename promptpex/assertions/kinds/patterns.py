"""The kind ``regex``; and ``word-any`` and ``word-all``: texts that count only where they stand as whole words.

A word is a run of letters, marks and digits, after the word boundaries of Unicode (UAX #29), simplified: ``_`` joins
two such characters, ``.`` and ``,`` join two digits, and ``can't`` is one word; other apostrophes and hyphens part
words. Characters of scripts that are written without blanks (Chinese, Japanese, Thai, Lao, Khmer, Burmese) are words
for themselves, so that a text is found anywhere in them. White space of any kind is one blank, ``’`` is ``'``, and
composed and decomposed letters are the same.

``dialect: unicode`` of a pattern is the flag ``u``, in which ``\\p{L}`` is a letter and an emoji one character, as
schemas have it; ``dialect: python`` is the package regex's.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import Any

from promptpex.assertions.javascript import v8
from promptpex.assertions.kinds.text import bad_value, items_of, lacking, refuse_empty, required_text
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.assertions.time_limits import in_time, tick
from promptpex.assertions.worker_process import StrikeCounter
from promptpex.codecs.text.wording import around, beginning, quoted_json
from promptpex.core.sentences import normal_form
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


_APOSTROPHES = str.maketrans("’ʼ＇", "'''")
_BLANKLESS = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x19E0, 0x19FF), (0x3005, 0x3007), (0x3031, 0x3035),
    (0x303B, 0x303C), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
"""First and last code points of scripts that are written without blanks: Thai, Lao, Burmese, Khmer, kana, Han."""
_BLANKLESS_STARTS = [first for first, _ in _BLANKLESS]


@lru_cache(maxsize=4)
def _plain(text: str, ignore_case: bool) -> str:
    """The text as words are looked for in it. The last texts are kept: all words of a rule look at the same output."""
    single = " ".join(normal_form("NFC", text).translate(_APOSTROPHES).split())
    return single.casefold() if ignore_case else single


def word_at(text: str, word: str) -> int:
    """Where ``word`` stands in ``text`` as a whole word; -1 if nowhere. Both as ``_plain`` gives them."""
    at = text.find(word)
    while at >= 0:
        if not _joined(text, at) and not _joined(text, at + len(word)):
            return at
        tick()
        at = text.find(word, at + 1)
    return -1


def _joined(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if unicodedata.category(after)[0] == "M":
        return True
    if _in_word(before) and _in_word(after):
        return not (_blankless(before) or _blankless(after))
    return _joined_by_sign(text, at, before, after)


def _joined_by_sign(text: str, at: int, before: str, after: str) -> bool:
    """Whether a sign between two characters of a word, just before or after this place, joins them."""
    if _in_word(before) and not _in_word(after):
        left, sign, right = before, after, text[at + 1 : at + 2]
    elif _in_word(after) and not _in_word(before):
        left, sign, right = text[at - 2 : at - 1] if at > 1 else "", before, after
    else:
        return False
    if not left or not right or not _in_word(left) or not _in_word(right):
        return False
    if sign in ".,":
        return left.isdecimal() and right.isdecimal()
    return sign == "_" or (sign == "'" and left in "nN" and right in "tT")


def _in_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _blankless(character: str) -> bool:
    code = ord(character)
    if code < _BLANKLESS_STARTS[0]:
        return False
    return code <= _BLANKLESS[bisect_right(_BLANKLESS_STARTS, code) - 1][1]


def _words(assertion: Assertion, value: object) -> tuple[str, ...]:
    words = items_of(assertion, value)
    if any(not word.strip() for word in words):
        raise bad_value(f"{assertion.kind} has an empty word to look for")
    return words


def _place(word: str, assertion: Assertion, checked: CheckedOutput) -> tuple[str, int]:
    text = _plain(checked.text, assertion.ignore_case)
    return text, word_at(text, _plain(word, assertion.ignore_case))


def _any(assertion: Assertion, words: tuple[str, ...], checked: CheckedOutput) -> KindResult:
    for word in in_time(words):
        text, at = _place(word, assertion, checked)
        if at >= 0:
            where = around(text, at, at + len(word))
            holds = stored("the output holds the word {quoted}: {excerpt}")
            return KindResult(True, holds.format(quoted=quoted_json(word), excerpt=where))
    excerpt = beginning(checked.text)
    if len(words) == 1:
        lacks = stored("the output does not hold the word {quoted}: {excerpt}")
        return KindResult(False, lacks.format(quoted=quoted_json(words[0]), excerpt=excerpt))
    none = stored("the output holds none of the {count} words: {excerpt}", count=len(words), excerpt=excerpt)
    return KindResult(False, none)


def _all(assertion: Assertion, words: tuple[str, ...], checked: CheckedOutput) -> KindResult:
    missing = [word for word in in_time(words) if _place(word, assertion, checked)[1] < 0]
    if not missing:
        return KindResult(True, stored("the output holds all {count} words", count=len(words)))
    return KindResult(False, lacking(missing, checked.text))


KINDS: tuple[Kind[Any], ...] = (
    Kind("word-any", _words, _any, refuse=refuse_empty),
    Kind("word-all", _words, _all, refuse=refuse_empty),
    Kind("regex", _pattern, _evaluate, verify=_verify),
)
