"""JSON out of a model's reply, whatever stands around it, and the objects of a list in it, each as soon as it is whole.

Total: any text gives a value or a ``ReplyError``, in time bounded by a small multiple of the text's length. Nothing is
guessed: several different answers in one reply, or half of one, are errors, since either guess could turn a verdict.
Lists are read in pieces in linear time; the same text gives the same objects however it is cut.

What a check takes for JSON in an output is another question (``js_values.in_text`` of ``assertions``): every strict
value, nothing repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from promptpex.codecs.json_text import refuse_constant
from promptpex.core.surrogates import replace_surrogates
from promptpex.core.translation import stored

MAX_CHARS = 4_000_000
"""Longer replies are refused unread."""

MAX_REPAIRED = 16_000
"""Longer texts are not given to json-repair, whose time can grow faster than its input."""

MAX_MARKS_BY_LENGTH = 4_000_000
"""Nor are texts in which the product of their length and their brackets and comments is larger, by which its time can
grow; one of 16,000 characters may have 250 of them."""

MAX_STARTS = 256
"""Opening brackets outside of any value that are tried as the start of one."""

MAX_TRIED = 16
"""Brackets before the end of thinking that are tried as the start of a value around it."""

MAX_DEPTH = 100
"""Deeper nesting than this is not an answer to any of our questions."""

_THINKING = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THINK_START = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THINK_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```|~~~)")
_LINE_END = re.compile(r"\r\n?|\n")
_OPENING = re.compile(r"[{\[]")
_MARK = re.compile(r"[{}\[\]]|//|/\*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_JSON_START = re.compile(r"\{\s*(?:[\"'}]|\w+\s*:)|\[\s*[{\[\"'\dtfn-]")


class ReplyError(ValueError):
    """A reply that holds no usable JSON; the message says why, without quoting the reply."""


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A value read from a reply.

    Attributes:
        repaired: whether the JSON itself was broken and had to be repaired; fences and text around it do not count.
    """

    value: Any
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class _Segment:
    """A bracketed part of a text: with its value where it is JSON; unclosed where the text ends inside it."""

    text: str
    value: Any = None
    sound: bool = False
    closed: bool = True


def read_json_reply(text: str) -> ParsedReply:
    """The JSON value of a model's reply.

    Read past: a byte order mark, ``<think>`` blocks, code fences, text before and after. Repaired and flagged: trailing
    commas, single quotes, comments, unquoted keys. Of a ``<think>`` that never ends only a value that closes the text
    is taken, and flagged: what stands further up is a draft.

    Raises:
        ReplyError: there is no JSON, it is cut off, there are several different values, or it is too large.
    """
    if len(text) > MAX_CHARS:
        raise ReplyError(
            stored("The reply is {count} characters long; at most {limit} are read.", count=len(text), limit=MAX_CHARS)
        )
    bare = text.strip().lstrip("\ufeff").strip()
    if not bare:
        raise ReplyError(stored("The reply is empty."))
    try:
        return ParsedReply(strict_json(bare))
    except ReplyError:
        pass
    answer, drafting = _after_thinking(bare)
    if not answer:
        raise ReplyError(stored("The reply holds only thinking, no answer."))
    return _closing(answer) if drafting else _inside(answer)


def strict_json(text: str) -> Any:
    """JSON by the standard, line breaks inside strings allowed.

    Raises:
        ReplyError: it is none, or nested too deeply.
    """
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise ReplyError(stored("The reply is not JSON.")) from error
    return _clean(value)


_DECODER = json.JSONDecoder(parse_constant=refuse_constant, strict=False)


def _clean(value: Any, depth: int = 0) -> Any:
    """The value with lone surrogates replaced, since they cannot be written to any file."""
    if depth > MAX_DEPTH:
        raise ReplyError(stored("The reply's JSON is nested deeper than {limit} levels.", limit=MAX_DEPTH))
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_clean(each, depth + 1) for each in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise ReplyError(stored("The reply's JSON holds a number out of range."))
    return value


def _after_thinking(text: str) -> tuple[str, bool]:
    """What follows the thinking, and whether the thinking never ended."""
    at = 0
    while match := _THINKING.match(text, at):
        at = match.end()
    if _THINK_START.match(text, at):
        return text[at:], True
    rest = text[at:].strip()
    end = _THINK_END.search(rest)
    opening = _OPENING.search(rest)
    if end and (opening is None or (_OPENING.search(rest, end.end()) and not _is_in_value(rest, end.start()))):
        return rest[end.end() :].strip(), False
    return rest, False


def _is_in_value(text: str, place: int) -> bool:
    """Whether a JSON value that begins before this place goes on after it, as one with a tag in a text of its own."""
    at = 0
    for _ in range(MAX_TRIED):
        start = _OPENING.search(text, at, place)
        if start is None:
            return False
        try:
            at = _DECODER.raw_decode(text, start.start())[1]
        except (ValueError, RecursionError):
            at = start.end()
        if at > place:
            return True
    return False


def _closing(text: str) -> ParsedReply:
    tail = text.rstrip("`~ \t\r\n")
    segments = list(_segments(tail))
    if segments and segments[-1].sound and tail.endswith(segments[-1].text):
        return ParsedReply(_clean(segments[-1].value), repaired=True)
    raise ReplyError(stored("The reply's thinking never ends, and no JSON closes it."))


def _inside(answer: str) -> ParsedReply:
    fenced = [segment for block in _fenced(answer) for segment in _segments(block)]
    if any(segment.sound for segment in fenced):
        return _chosen(fenced)
    return _chosen(list(_segments(answer)))


def _chosen(segments: list[_Segment]) -> ParsedReply:
    if not segments:
        raise ReplyError(stored("The reply holds no JSON object or array."))
    values = _distinct([segment.value for segment in segments if segment.sound])
    longest = max(segments, key=lambda segment: len(segment.text))
    if not longest.closed:
        raise ReplyError(stored("The reply's JSON is cut off before its end."))
    if longest.sound or values:
        repaired = None if longest.sound else _repaired(longest)
        if repaired is not None:
            return repaired
        if len(values) > 1:
            raise ReplyError(stored("The reply holds {count} different JSON values; one is wanted.", count=len(values)))
        return ParsedReply(_clean(values[0]))
    repaired = _repaired(longest)
    if repaired is None:
        raise ReplyError(stored("The reply holds brackets, but no JSON that can be read."))
    return repaired


def _distinct(values: list[Any]) -> list[Any]:
    """The different values: objects if there are any, else arrays; empty ones only if there is nothing else."""
    for wanted in (
        [value for value in values if isinstance(value, dict) and value],
        [value for value in values if isinstance(value, list) and value],
        values,
    ):
        if wanted:
            return [value for at, value in enumerate(wanted[:MAX_STARTS]) if value not in wanted[:at]]
    return []


def _segments(text: str) -> Iterator[_Segment]:
    """The outermost bracketed parts of a text that are JSON or look like it, in order."""
    at, work = 0, 2 * len(text) + 100_000
    for _ in range(MAX_STARTS):
        start = _OPENING.search(text, at)
        if start is None or work < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            broken = _broken(text, start.start())
            work -= len(broken.text)
            at = start.start() + len(broken.text) if broken.closed else start.end()
            if _JSON_START.match(broken.text):
                yield broken
            if not broken.closed and _JSON_START.match(broken.text):
                return
        else:
            at = end
            yield _Segment(text[start.start() : end], value, sound=True)


def _broken(text: str, start: int) -> _Segment:
    """The part from the bracket at ``start`` to the one that closes it, strings skipped."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token.group() in "{[":
            depth += 1
        elif token.group() in "}]":
            depth -= 1
        if depth == 0:
            return _Segment(text[start : token.end()])
        if depth > MAX_DEPTH:
            break
    return _Segment(text[start:], closed=False)


def _fenced(text: str) -> list[str]:
    blocks: list[str] = []
    mark = ""
    lines: list[str] = []
    for line in _LINE_END.split(text):  # what else ends a line for Python may stand in a text of the JSON
        fence = _FENCE.match(line)
        if not mark and fence:
            mark, lines = fence.group(1), []
        elif mark and fence and fence.group(1) == mark:
            blocks.append("\n".join(lines))
            mark = ""
        elif mark:
            lines.append(line)
    return blocks


def _repaired(segment: _Segment) -> ParsedReply | None:
    """What json-repair makes of a broken part, if that has the part's own shape."""
    text = segment.text
    if len(text) > MAX_REPAIRED or not _JSON_LIKE.match(text) or _depth(text) > MAX_DEPTH:
        return None
    if len(text) * len(_MARK.findall(text)) > MAX_MARKS_BY_LENGTH:
        return None
    import json_repair

    try:
        value = json_repair.loads(text, skip_json_loads=True)
        shape = dict if text[0] == "{" else list
        return ParsedReply(_clean(value), repaired=True) if value and isinstance(value, shape) else None
    except (ValueError, RecursionError):
        return None


_JSON_LIKE = re.compile(r"\{.*:|\[", re.DOTALL)


def _depth(text: str) -> int:
    deepest = depth = 0
    for char in text:
        depth += (char in "{[") - (char in "}]")
        deepest = max(deepest, depth)
    return deepest


_BEFORE = re.compile(r"[\s\ufeff]*")
_BETWEEN = re.compile(r"[\s,]*")
_BLANKS = re.compile(r"\s*")
_PLAIN = re.IGNORECASE | re.ASCII
_THINK_TAG = re.compile(r"<(think|thinking|reasoning)>", _PLAIN)
_THINK_TAGS = ("<think>", "<thinking>", "<reasoning>")
_LONGEST_TAG = len("</reasoning>")
_IN_TEXT = re.compile(r'["\\]')
_IN_OBJECT = re.compile(r'["{}\[\]]')


class GrowingList:
    """Reads the first list of objects in a text, past thinking and whatever else stands before it.

    It ends with the list, and with the first of its items that is not a strict JSON object, is nested too deeply, or
    passes the ``MAX_CHARS`` characters that are read of a reply. Nothing is repaired.
    """

    def __init__(self) -> None:
        self._step = self._begin
        self._read = 0
        self._held = ""
        self._closing = _THINK_TAG
        self._is_bracket_open = False
        self._parts: list[str] = []
        self._depth = 0
        self._in_text = self._is_escaped = False
        self._new: list[dict[str, Any]] = []

    def add(self, piece: str) -> list[dict[str, Any]]:
        """The objects that are whole with this piece of the text, in order."""
        piece = piece[: MAX_CHARS - self._read]
        self._read += len(piece)
        at = 0
        while at < len(piece):
            at = self._step(piece, at)
        new, self._new = self._new, []
        return new

    def _begin(self, text: str, at: int) -> int:
        """Before anything was read: thinking may begin, its tag in pieces."""
        at = at if self._held else _end(_BEFORE, text, at)
        before = len(self._held)
        self._held += text[at : at + _LONGEST_TAG - before]
        thinking = _THINK_TAG.match(self._held)
        if thinking:
            self._closing = re.compile(f"</{thinking[1]}>", _PLAIN)
            self._held, self._step = "", self._think
            return at + thinking.end() - before
        if any(tag.startswith(self._held.lower()) for tag in _THINK_TAGS):
            return len(text)
        self._held, self._step = "", self._seek
        return at

    def _think(self, text: str, at: int) -> int:
        before = len(self._held)
        across = self._closing.search(self._held + text[at : at + _LONGEST_TAG]) if before else None
        end = self._closing.search(text, at) if across is None else None
        if across is None and end is None:
            self._held = (self._held + text[max(at, len(text) - _LONGEST_TAG) :])[-_LONGEST_TAG:]
            return len(text)
        self._held, self._step = "", self._begin
        return end.end() if end is not None else at + across.end() - before if across is not None else at

    def _seek(self, text: str, at: int) -> int:
        if not self._is_bracket_open:
            bracket = text.find("[", at)
            self._is_bracket_open = bracket >= 0
            return bracket + 1 if bracket >= 0 else len(text)
        at = _end(_BLANKS, text, at)
        if at < len(text):
            self._is_bracket_open = False
            if text[at] == "{":
                self._step = self._object
        return at

    def _between(self, text: str, at: int) -> int:
        at = _end(_BETWEEN, text, at)
        if at < len(text):
            self._step = self._object if text[at] == "{" else self._ended
        return at

    def _object(self, text: str, at: int) -> int:
        start = at
        while at < len(text):
            if self._is_escaped:
                self._is_escaped = False
                at += 1
                continue
            mark = (_IN_TEXT if self._in_text else _IN_OBJECT).search(text, at)
            if mark is None:
                break
            at = mark.end()
            self._take(mark[0])
            if not 0 < self._depth <= MAX_DEPTH:
                self._parts.append(text[start:at])
                self._close()
                return at
        self._parts.append(text[start:])
        return len(text)

    def _take(self, mark: str) -> None:
        if mark == "\\":
            self._is_escaped = True
        elif mark == '"':
            self._in_text = not self._in_text
        else:
            self._depth += 1 if mark in "{[" else -1

    def _close(self) -> None:
        """Reads the object that has just ended; the list ends with one that cannot be read."""
        whole, self._parts = "".join(self._parts), []
        try:
            self._new.append(strict_json(whole))
            self._step = self._between
        except ReplyError:
            self._step = self._ended

    def _ended(self, text: str, at: int) -> int:
        return len(text)


def whole_objects(text: str) -> list[dict[str, Any]]:
    """The objects of the list in a reply that was cut off or broken, up to the first that is not whole; none where the
    reply is too large."""
    return GrowingList().add(text) if len(text) <= MAX_CHARS else []


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
