"""Values as a page shows them: foreign text with all that it hides made visible, figures, and data."""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup, escape

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff]")
_DELETE = 0x7F
_OVERRIDES = (0x202D, 0x202E)


def pictured(value: Any) -> Any:
    """A value for the page: None as nothing; of a text, control characters as their pictures (U+2400 ...), overrides
    of the writing direction by their names, what no file can hold as U+FFFD."""
    if value is None:
        return ""
    if type(value) is not str or value.isprintable():
        return value
    return _UNSEEN.sub(_picture, value.replace("\r\n", "\n"))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == _DELETE:
        return "␡"
    if code in _OVERRIDES:
        return f"[U+{code:04X}]"
    return chr(0x2400 + code) if code < _DELETE else "\ufffd"


_SEPARATOR = re.compile(r"(?<=[/:?&@=])(?=.)")


def breakable(name: str) -> Markup:
    """A name that may go on in the next line after a slash, colon or the like."""
    return Markup("<wbr>").join(pictured(part) for part in _SEPARATOR.split(name))


def coded(text: str) -> Markup:
    """A sentence in which what is between backticks, such as a command, is set as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(pictured(text)))))


def figure(value: Any) -> str:
    """A cell of a table of figures: a dash for what is not known, four digits of a measure."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def pretty(value: Any) -> str:
    """JSON-ready data as indented JSON; what is a text stays one."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)
