"""The objects of a reply's list, each as soon as it is whole: of a text that comes in pieces, or was cut off.

Total and linear: every character is looked at once, whatever the pieces are, and the same text gives the same objects
however it is cut.
"""

from __future__ import annotations

import re
from typing import Any

from promptpex.codecs.model_json import MAX_CHARS, MAX_DEPTH, ReplyError, strict_json

_BEFORE = re.compile(r"[\s\ufeff]*")
_BETWEEN = re.compile(r"[\s,]*")
_BLANK = re.compile(r"\s*")
_PLAIN = re.IGNORECASE | re.ASCII
_THINK_START = re.compile(r"<(think|thinking|reasoning)>", _PLAIN)
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
        self._closing = _THINK_START
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
        thinking = _THINK_START.match(self._held)
        if thinking:
            self._closing = re.compile(f"</{thinking[1]}>", _PLAIN)
            self._held, self._step = "", self._think
            return at + thinking.end() - before
        if any(tag.startswith(self._held.lower()) for tag in _THINK_TAGS):
            return len(text)
        self._held, self._step = "", self._seek
        return at

    def _think(self, text: str, at: int) -> int:
        """Inside thinking, up to the tag that closes it."""
        before = len(self._held)
        across = self._closing.search(self._held + text[at : at + _LONGEST_TAG]) if before else None
        end = self._closing.search(text, at) if across is None else None
        if across is None and end is None:
            self._held = (self._held + text[max(at, len(text) - _LONGEST_TAG) :])[-_LONGEST_TAG:]
            return len(text)
        self._held, self._step = "", self._begin
        return end.end() if end is not None else at + across.end() - before if across is not None else at

    def _seek(self, text: str, at: int) -> int:
        """Up to a bracket that is followed by a brace."""
        if not self._is_bracket_open:
            bracket = text.find("[", at)
            self._is_bracket_open = bracket >= 0
            return bracket + 1 if bracket >= 0 else len(text)
        at = _end(_BLANK, text, at)
        if at < len(text):
            self._is_bracket_open = False
            if text[at] == "{":
                self._step = self._object
        return at

    def _between(self, text: str, at: int) -> int:
        """Between two items."""
        at = _end(_BETWEEN, text, at)
        if at < len(text):
            self._step = self._object if text[at] == "{" else self._ended
        return at

    def _object(self, text: str, at: int) -> int:
        """Inside an object, up to the brace that closes it."""
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
