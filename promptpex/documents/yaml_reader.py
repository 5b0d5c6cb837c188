"""YAML 1.2 with line numbers: the core schema (YAML 1.2.2, section 10.3), plain data out, hostile files refused.

Dates stay text, ``no`` stays text, ``012`` is 12: a value means what it looks like. Anchors and aliases are read,
but not beyond ``MAX_NODES`` values in all, so that a few lines cannot unfold into gigabytes.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from promptpex.codecs.files.ordinary_files import decode, read_bytes
from promptpex.core.errors import InputError
from promptpex.core.records import collector_paused
from promptpex.core.surrogates import has_surrogate
from promptpex.documents import libyaml_nodes
from promptpex.documents.libyaml_nodes import MAX_DEPTH, STANDARD_TAG, UNTAGGED

MAX_BYTES = 20_000_000
MAX_NODES = 500_000
MOST_SLOW = 150_000
"""Signs between values of a text that libyaml leaves to ruamel, which takes 40 millionths of a second for each."""

_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_TRUE = re.compile(r"(?:true|True|TRUE)\Z")
_FALSE = re.compile(r"(?:false|False|FALSE)\Z")
_INT = re.compile(r"[-+]?[0-9]{1,400}\Z")
_OCT = re.compile(r"0o[0-7]{1,400}\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,400}\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_FIRST = frozenset("~nNtTfF+-.0123456789")
"""What a scalar that is not a text begins with."""
_KNOWN = ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map")
_TAGS = frozenset((UNTAGGED, *(STANDARD_TAG + name for name in _KNOWN)))

Keys = tuple[str | int, ...]
Node = Any
"""A node of PyYAML's or of ruamel's, which are alike in ``id``, ``tag``, ``value``, ``style`` and ``start_mark``."""


@dataclass(frozen=True)
class YamlDoc:
    """A YAML file as data, with the places of its values.

    Attributes:
        text: as read, its byte order mark removed.
        data: plain Python: dict, list, str, int, float, bool, None.
        root: the node tree, for edits in place; None for a file of comments only.
        first_line: the line of the file that the text begins on.
        mark: the byte order mark that the file began with, or nothing.
    """

    text: str
    data: Any
    root: Node
    path: Path | str | None = None
    first_line: int = 1
    error: type[InputError] = field(default=InputError, compare=False)
    mark: str = ""

    def node(self, *keys: str | int) -> Node:
        """The node at this path of keys and positions, or None."""
        place = self._find(keys)
        return place[1] if place is not None and place[0] == len(keys) else None

    def line(self, *keys: str | int) -> int:
        """The line of the value at this path, or of the nearest value around it that exists."""
        place = self.root
        line = self.root.start_mark.line if self.root is not None else 0
        for key in keys:
            step = _step(place, key)
            if step is None:
                break
            line, place = step
        return int(line) + self.first_line

    def source(self, *keys: str | int) -> str | None:
        """The characters of a scalar as they stand in the file (without quotes), or None."""
        node = self.node(*keys)
        return node.value if node is not None and node.id == "scalar" else None

    def fail(self, message: str, *keys: str | int) -> InputError:
        return self.error(message, path=self.path, line=self.line(*keys))

    def _find(self, keys: Keys) -> tuple[int, Node] | None:
        place = self.root
        for depth, key in enumerate(keys):
            step = _step(place, key)
            if step is None:
                return (depth, place) if place is not None else None
            place = step[1]
        return (len(keys), place) if place is not None else None


def _step(node: Node, key: str | int) -> tuple[int, Node] | None:
    if node is None:
        return None
    if node.id == "mapping":
        for name, value in node.value:
            if name.value == key:
                return name.start_mark.line, value
    elif node.id == "sequence" and isinstance(key, int) and 0 <= key < len(node.value):
        value = node.value[key]
        return value.start_mark.line, value
    return None


def read(
    path: Path | str, *, error: type[InputError], what: str, limit: int = MAX_BYTES, to_edit: bool = False
) -> YamlDoc:
    """A YAML file as data with line numbers.

    Args:
        to_edit: whether ``yaml_writer`` is to change the text; it needs to know where everything ends.
    """
    data = read_bytes(Path(path), error=error, what=what, limit=limit)
    text = decode(data, path=path, error=error, what=what)
    doc = load(text, path=path, error=error, what=what, to_edit=to_edit)
    return replace(doc, mark="\ufeff") if data.startswith(codecs.BOM_UTF8) else doc


@collector_paused()
def load(
    text: str,
    *,
    path: Path | str | None = None,
    error: type[InputError],
    what: str,
    first_line: int = 1,
    to_edit: bool = False,
) -> YamlDoc:
    """YAML text as data with line numbers; ``first_line`` is where in the file the text begins."""
    root = _root(text, path, error, what, first_line, to_edit)
    builder = _Builder(path, error, what, first_line, max(MAX_BYTES, len(text)))
    data = builder.build(root, 0) if root is not None else None
    return YamlDoc(text, data, root, path, first_line, error)


def _root(
    text: str, path: Path | str | None, error: type[InputError], what: str, first_line: int, to_edit: bool
) -> Node:
    """The root node, from libyaml where its result is sure to be that of ruamel, unless the text is to be edited."""
    if not to_edit:
        try:
            return libyaml_nodes.compose(text)
        except libyaml_nodes.TooDeep as failure:
            raise error(failure.sentence(what), path=path, line=failure.line + first_line) from None
        except libyaml_nodes.Unsure as unsure:
            if sum(map(text.count, ",:\n[{")) > MOST_SLOW:
                slow = f"has more than {MOST_SLOW:,} values, and tags, tabs or empty keys; leave those out"
                line = unsure.line + first_line if unsure.why else None
                why = f"is not valid YAML: {unsure.why}" if unsure.why else slow
                raise error(f"the {what} {why}", path=path, line=line) from None
    from promptpex.documents import ruamel_nodes

    return ruamel_nodes.compose(text, path=path, error=error, what=what, first_line=first_line)


class _Builder:
    """Turns nodes into data, counting them."""

    def __init__(self, path: Path | str | None, error: type[InputError], what: str, first_line: int, room: int) -> None:
        self.path, self.error, self.what, self.first_line = path, error, what, first_line
        self.seen, self.room = 0, room

    def build(self, node: Node, depth: int) -> Any:
        self.seen += 1
        if self.seen > MAX_NODES:
            raise self.fail(f"the {self.what} expands to more than {MAX_NODES} values", node)
        if depth > MAX_DEPTH:
            raise self.fail(f"the {self.what} is nested more than {MAX_DEPTH} deep", node)
        tag = str(node.tag)
        if tag not in _TAGS:
            raise self.fail(f"the tag {tag!r} is not known; remove it", node)
        if node.id == "scalar":
            return self.scalar(node, tag)
        if node.id == "mapping":
            return self.mapping(node, depth)
        return [self.build(item, depth + 1) for item in node.value]

    def mapping(self, node: Node, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for name, value in node.value:
            if name.id != "scalar":
                raise self.fail("a key must be one word or text, not a list or mapping", name)
            if name.value in data:
                first = lines[name.value] + self.first_line
                raise self.fail(f"the key {name.value!r} is there twice (first on line {first}); keep one", name)
            if has_surrogate(name.value):
                raise self.fail("the key holds half of a character (a lone surrogate); remove it", name)
            lines[name.value] = name.start_mark.line
            data[name.value] = self.build(value, depth + 1)
        return data

    def scalar(self, node: Any, tag: str) -> Any:
        self.room -= len(node.value)
        if self.room < 0:
            raise self.fail(f"the {self.what} repeats its texts to more than {MAX_BYTES:,} characters", node)
        if has_surrogate(node.value):
            raise self.fail("the text holds half of a character (a lone surrogate); remove it", node)
        if node.style or tag == f"{STANDARD_TAG}str":
            return node.value
        value = plain_value(node.value)
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            raise self.fail(f"the number {node.value} is too large; write it in quotes", node)
        return value

    def fail(self, message: str, node: Node) -> InputError:
        return self.error(message, path=self.path, line=node.start_mark.line + self.first_line)


def plain_value(text: str) -> Any:
    """What an unquoted scalar means under the core schema; infinities and not-a-number stay text."""
    if text and text[0] not in _FIRST:
        return text
    if _NULL.match(text):
        return None
    if _TRUE.match(text):
        return True
    if _FALSE.match(text):
        return False
    for pattern, base in ((_INT, 10), (_OCT, 8), (_HEX, 16)):
        if pattern.match(text):
            return int(text if base == 10 else text[2:], base)
    if _FLOAT.match(text) and not _INFINITE.match(text):
        return float(text)
    return text
