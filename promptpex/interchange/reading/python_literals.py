"""Data and names as Python source: what people and models wrote stays text, whatever it holds."""

from __future__ import annotations

import keyword
import pprint
import re
import textwrap
from collections.abc import Iterable

WIDTH = 110
_WORD = re.compile(r"[a-z0-9]+")
_NAME_LENGTH = 60


def literal(value: object) -> str:
    """Texts, numbers, truth values, None, and lists and mappings of them as a literal of ASCII and printable signs."""
    return pprint.pformat(value, width=WIDTH, sort_dicts=False)


def docstring(text: str, indent: str = "") -> str:
    """A text as a docstring, broken into lines; each but the first begins with ``indent``."""
    line = " ".join(text.split()) or "A rule."
    if not line.isprintable() or "\\" in line or '"""' in line or line.endswith('"'):
        return ascii(line)
    return f'"""{textwrap.fill(line, WIDTH - 6, subsequent_indent=indent, break_long_words=False)}"""'


def names(prefix: str, texts: Iterable[str]) -> list[str]:
    """A name for each of these texts, of its words; no two are the same, and none is a word of Python's."""
    taken: set[str] = set()
    unique_names = []
    for text in texts:
        words = "_".join(_WORD.findall(text.lower()))[:_NAME_LENGTH].strip("_")
        stem = f"{prefix}_{words}" if words else prefix
        name, number = stem, 2
        while name in taken or keyword.iskeyword(name):
            name, number = f"{stem}_{number}", number + 1
        taken.add(name)
        unique_names.append(name)
    return unique_names


def comment(text: str) -> str:
    """A text as a comment on one line."""
    line = " ".join(text.split())
    return f"# {line if line.isprintable() else ascii(line)}"
