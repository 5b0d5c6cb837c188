"""Hostile texts and values, made at random from good ones; the same seed makes the same."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

WORDS = (
    "", " ", "\n", "\r", "\r\n", "\t", "\0", "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\u202e", "\u2028", "\u0085",
    "\ufeff", "\ud800", "\U0001f600", "e\u0301", "\u0660\u0661", "\u00bd", "ſ", "İ", "ß", "{{", "}}", "{%", "%}",
    "{#", "{{x}}", "{{ x.__class__ }}", "{% for a in range(99999) %}x{% endfor %}", "{% set a=[1] %}{% set a=[a,a] %}",
    "{{ x|map('upper')|list }}", "{% include '/etc/passwd' %}", "---", "...", "- ", ": ", "? ", "#", "|", ">", "|-",
    "!!python/object/apply:os.system ['id']", "!!binary aGk=", "!!set {a}", "!!timestamp 2026-01-01", "!", "&a [*a]",
    "*a", "<<: *a", "&a", "%YAML 1.1", "yes", "no", "null", "~", "true", "0x1F", "0o17", "0b1", "1_000", "1e999",
    "-1e999", "NaN", ".nan", ".inf", "-0", "-1", "0", "1.5", "9" * 400, "9007199254740993", "2026-01-01", "12:30:45",
    "../../etc/passwd", "/etc/passwd", "/dev/zero", "file:///etc/passwd", "file://x.json", "a\\b", "con", ".", "..",
    "=cmd|' /C calc'!A0", "@SUM(1)", "%s%n%x", "%", "%%", "$(id)", "`id`", "'; DROP TABLE replies; --", '"', "'",
    "\\", "\\u0000", "[", "]", "{", "}", "[" * 300, "{\"a\":" * 200, "(a+)+$", "(?<n>x)\\k<n>", "[\\d-x]", "(?i)",
    "[" * 1200, "{\"a\":" * 1200, "[" * 1200 + "]" * 1200, "a" * 3000, "word " * 400, ". " * 300, "<div>" * 200,
    "<!DOCTYPE a [<!ENTITY b 'c'>]>&b;", "```json\n", "```",
    "<think>", "</think>", "system:", "user:\n", "assistant:", "?temperature=2", "?api_base=http://127.0.0.1:1/v1",
    "ollama/", "openai/", "replay/", "replay//dev/null", "embedded/", "embedded/hf:a/b/c", "fake/x", "bedrock/a:0",
    "r1", "-r1", "r1-1", "pass", "fail", "OK", "ERR", "unscored", "http://[::1", "http://a:b@c:99999/", "é" * 50,
)  # fmt: skip
"""Words that have broken readers of text, here and elsewhere."""

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**63) - 1, 10**400, 0.0, -0.0, 1e308, -1e308, 5e-324,
    float("inf"), float("-inf"), float("nan"), "", [], {}, [[]], {"": ""}, [None], {"a": None},
)  # fmt: skip

KEYS = (
    "", "id", "kind", "type", "value", "rule", "rules", "inverse", "checks", "decides", "threshold", "transform",
    "assert", "vars", "inputs", "schema", "enum", "$ref", "pattern", "values", "minimum", "max_length", "origin",
    "provider", "metric", "weight", "config", "output", "text", "usage", "choices", "__proto__", "constructor",
    "__class__", "0", "null", "é", "a b", "a.b", "\n", "\ud800", "x" * 300,
)  # fmt: skip

BYTES = (b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\x1a", b"\r", b"\n")


class Maker:
    """Draws from one random generator."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def word(self) -> str:
        """One odd word."""
        return self.rng.choice(WORDS)

    def text(self) -> str:
        """A few odd words, or characters from anywhere."""
        if self.rng.random() < 0.3:
            return "".join(chr(self._point()) for _ in range(self.rng.randrange(12)))
        return self.rng.choice((" ", "", "\n")).join(self.word() for _ in range(self.rng.randrange(1, 4)))

    def _point(self) -> int:
        return self.rng.randrange(self.rng.choice((128, 256, 0x3000, 0x110000)))

    def value(self, depth: int = 0) -> Any:
        """Any value that JSON or YAML can say, and some that they cannot."""
        kind = self.rng.random()
        if kind < 0.45 or depth > 3:
            return self.text()
        if kind < 0.8:
            return copy.deepcopy(self.rng.choice(ODD))
        if kind < 0.9:
            return [self.value(depth + 1) for _ in range(self.rng.randrange(4))]
        return {self.key(): self.value(depth + 1) for _ in range(self.rng.randrange(4))}

    def key(self) -> str:
        """A member's name."""
        return self.rng.choice(KEYS) if self.rng.random() < 0.8 else self.text()

    def changed(self, value: Any, times: int | None = None) -> Any:
        """A copy of ``value`` in which a few places hold something else, are gone, doubled or moved."""
        made = copy.deepcopy(value)
        for _ in range(self.rng.randrange(1, 4) if times is None else times):
            made = self._changed_once(made)
        return made

    def _changed_once(self, value: Any) -> Any:
        if isinstance(value, dict) and value and self.rng.random() < 0.85:
            key = self.rng.choice(list(value))
            return self._member_changed(value, key)
        if isinstance(value, list) and value and self.rng.random() < 0.85:
            place = self.rng.randrange(len(value))
            return self._item_changed(value, place)
        if isinstance(value, str) and value and self.rng.random() < 0.6:
            return self.mangled(value)
        return self.value()

    def _member_changed(self, value: dict[Any, Any], key: Any) -> dict[Any, Any]:
        kind = self.rng.random()
        if kind < 0.08:
            del value[key]
        elif kind < 0.16:
            value[self.key()] = self.value()
        elif kind < 0.2:
            value[self.key()] = value.pop(key)
        else:
            value[key] = self._changed_once(value[key])
        return value

    def _item_changed(self, value: list[Any], place: int) -> list[Any]:
        kind = self.rng.random()
        if kind < 0.1:
            del value[place]
        elif kind < 0.2:
            value.insert(place, copy.deepcopy(value[place]))
        elif kind < 0.25:
            value.insert(place, self.value())
        else:
            value[place] = self._changed_once(value[place])
        return value

    def mangled(self, text: str) -> str:
        """``text`` with a few spans cut, doubled, moved, or odd words put in."""
        for _ in range(self.rng.randrange(1, 5)):
            text = self._mangled_once(text)
        return text

    def _mangled_once(self, text: str) -> str:
        start = self.rng.randrange(len(text) + 1)
        end = min(len(text), start + self.rng.choice((0, 1, 1, 2, 5, 20, 80)))
        kinds: Sequence[Callable[[], str]] = (
            lambda: text[:start] + self.word() + text[start:],
            lambda: text[:start] + self.word() + text[end:],
            lambda: text[:start] + text[end:],
            lambda: text[:start] + text[start:end] * self.rng.choice((2, 3, 40)) + text[end:],
            lambda: text[end:] + text[start:end] + text[:start],
            lambda: text[:start] + chr(self._point()) + text[start + 1 :],
            lambda: self._line_moved(text),
            lambda: text[:start],
        )
        return self.rng.choice(kinds)()[:20_000]

    def _line_moved(self, text: str) -> str:
        lines = text.splitlines(keepends=True) or [text]
        line = lines.pop(self.rng.randrange(len(lines)))
        lines.insert(self.rng.randrange(len(lines) + 1), self.rng.choice(("", " ", "  ", "- ")) + line)
        return "".join(lines)

    def bytes_of(self, text: str) -> bytes:
        """``text`` as a file holds it; now and then with bytes that are not text."""
        raw = text.encode("utf-8", "surrogatepass" if self.rng.random() < 0.1 else "replace")
        if self.rng.random() < 0.9:
            return raw
        if self.rng.random() < 0.3:
            return text.encode(self.rng.choice(("utf-16", "utf-32", "latin-1")), "replace")
        for _ in range(self.rng.randrange(1, 4)):
            place = self.rng.randrange(len(raw) + 1)
            raw = raw[:place] + self.rng.choice(BYTES) + raw[place + self.rng.randrange(3) :]
        return raw

    def file(self, folder: Path, name: str, text: str) -> Path:
        """Writes ``text`` to a file, as ``bytes_of`` has it."""
        path = folder / name
        path.write_bytes(self.bytes_of(text))
        return path

    def flipped(self, raw: bytes) -> bytes:
        """``raw`` with some bytes changed, or cut."""
        made = bytearray(raw)
        for _ in range(self.rng.choice((1, 2, 8, 64))):
            if made:
                made[self.rng.randrange(len(made))] = self.rng.randrange(256)
        return bytes(made[: self.rng.randrange(len(made) + 1)] if self.rng.random() < 0.15 else made)

    def json(self, value: Any) -> str:
        """``value`` as JSON, as loosely as Python and models write it."""
        return json.dumps(value, ensure_ascii=self.rng.random() < 0.5, indent=self.rng.choice((None, None, 1)))

    def document(self, text: str, value: Any) -> str:
        """A document from a good one: its text mangled, or its value changed and written as JSON, or nonsense."""
        kind = self.rng.random()
        if kind < 0.5:
            return self.mangled(text)
        if kind < 0.92:
            return self.json(self.changed(value))
        return self.text() if kind < 0.97 else self.mangled(self.json(self.value()))
