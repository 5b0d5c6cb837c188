"""YAML text of plain data: what we write into people's files. Every text it gives reads back as the same data.

It is ours, and small, because it must never fold, re-quote or re-indent: the same value has one text (YAML 1.2.2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from promptpex.documents.yaml_reader import plain_value

FLOW_WIDTH = 100
"""Small mappings inside lists, such as checks, stand on one line up to this many characters."""

_PLAIN = re.compile(r"[^\W_](?:[\w .,;!?()/'\-+=<>$&@^~|]*[\w.;!?()/'\-+=<>$^~])?\Z")
_FLOW_SIGNS = set(",[]{}")
_OLD_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}
_NUMBER_LIKE = re.compile(r"[0-9][0-9_,.:xob\-+eTtZ a-fA-F]*\Z")
# What a quoted scalar cannot hold as it is: controls, line ends of older YAML, marks, lone surrogates, non-characters.
_ESCAPED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_UNSAFE_IN_BLOCK = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def inline(value: Any, *, in_flow: bool = False) -> str:
    """The value on one line, whatever it is: a scalar, ``[..]`` or ``{..}``."""
    if isinstance(value, str):
        return _text(value, in_flow)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(name, True)}: {inline(item, in_flow=True)}" for name, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, Sequence):
        return f"[{', '.join(inline(item, in_flow=True) for item in value)}]"
    return json.dumps(value, allow_nan=False)


def entry(name: str, value: Any, indent: int) -> str:
    """``name: value`` as lines without the last line end; ``indent`` blanks stand before all lines but the first."""
    return f"{_key(name, False)}:{after_colon(value, indent)}"


def after_colon(value: Any, indent: int) -> str:
    """What stands behind ``name:``, from its first blank or line end on, the name standing at column ``indent``."""
    if isinstance(value, str):
        return f" {_block_text(value, indent + 2) if _fits_block(value) else _text(value, False)}"
    if isinstance(value, Mapping) and value:
        return "\n" + _lines(mapping(value, indent + 2), indent + 2)
    if isinstance(value, Sequence) and value:
        items = "\n".join(item_text(item, indent + 2) for item in value)
        return "\n" + items
    return f" {inline(value)}"


def item_text(value: Any, column: int) -> str:
    """A list item whose dash stands at ``column``, with the blanks before it and without the last line end."""
    blanks = " " * column
    if isinstance(value, Mapping) and value:
        line = inline(value)
        if _is_small(value) and column + len(line) <= FLOW_WIDTH:
            return f"{blanks}- {line}"
        return f"{blanks}- {mapping(value, column + 2)}"
    if isinstance(value, str) and _fits_block(value):
        return f"{blanks}- {_block_text(value, column + 2)}"
    return f"{blanks}- {inline(value)}"


def block_item(value: Mapping[str, Any], column: int) -> str:
    """As ``item_text``, always over several lines: for the rules and cases themselves."""
    return f"{' ' * column}- {mapping(value, column + 2)}"


def mapping(value: Mapping[str, Any], indent: int) -> str:
    """A block mapping at ``indent``, the first line without its blanks."""
    return f"\n{' ' * indent}".join(entry(name, item, indent) for name, item in value.items())


def document(value: Mapping[str, Any]) -> str:
    """A whole file with this mapping at its top."""
    return mapping(value, 0) + "\n"


def _lines(first_bare: str, indent: int) -> str:
    return " " * indent + first_bare


def _is_small(value: Mapping[str, Any]) -> bool:
    return "id" not in value and not any(isinstance(item, Mapping | list | tuple) for item in value.values())


def _key(name: str, in_flow: bool) -> str:
    return _text(name, in_flow)


def _text(value: str, in_flow: bool) -> str:
    if _is_plain(value) and not (in_flow and _FLOW_SIGNS & set(value)):
        return value
    if _ESCAPED.search(value):
        return _double_quoted(value)
    quoted = value.replace("'", "''")
    return f"'{quoted}'"


def _is_plain(value: str) -> bool:
    if not _PLAIN.match(value) or value.lower() in _OLD_WORDS or _NUMBER_LIKE.match(value):
        return False
    return isinstance(plain_value(value), str) and not _ESCAPED.search(value)


def _double_quoted(value: str) -> str:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _ESCAPED.sub(_escape, quoted) + '"'


def _escape(match: re.Match[str]) -> str:
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
    return short.get(match.group(), f"\\u{ord(match.group()):04x}")


def _fits_block(value: str) -> bool:
    body = value.removesuffix("\n")
    if "\n" not in body or body.endswith("\n") or _UNSAFE_IN_BLOCK.search(value):
        return False
    lines = body.split("\n")
    if not lines[0] or lines[0][0] == " ":
        return False
    return not any(line != line.rstrip() or line.startswith(("---", "...")) for line in lines)


def _block_text(value: str, indent: int) -> str:
    blanks = " " * indent
    head, body = ("|", value[:-1]) if value.endswith("\n") else ("|-", value)
    lines = (f"{blanks}{line}" if line else "" for line in body.split("\n"))
    return head + "\n" + "\n".join(lines)
