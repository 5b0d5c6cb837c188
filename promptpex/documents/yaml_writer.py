"""YAML text of plain data, and small edits in such a text: only the characters that must change do.

Ours, and small, because it must never fold, re-quote or re-indent: the same value has one text (YAML 1.2.2), and every
text reads back as the same data. For edits the tree of nodes only says where things stand; the text itself is cut and
joined. Comments inside what is removed or replaced are kept, as lines of their own at the same place.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.core.errors import InputError
from promptpex.documents.yaml_reader import Keys, Node, YamlDoc, plain_value

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, SequenceNode


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
        inner = ", ".join(f"{_text(name, True)}: {inline(item, in_flow=True)}" for name, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, Sequence):
        return f"[{', '.join(inline(item, in_flow=True) for item in value)}]"
    return json.dumps(value, allow_nan=False)


def entry(name: str, value: Any, indent: int) -> str:
    """``name: value`` as lines without the last line end; ``indent`` blanks stand before all lines but the first."""
    return f"{_text(name, False)}:{after_colon(value, indent)}"


def after_colon(value: Any, indent: int) -> str:
    """What stands behind ``name:``, from its first blank or line end on, the name standing at column ``indent``."""
    if isinstance(value, str):
        return f" {_block_text(value, indent + 2) if _fits_block(value) else _text(value, False)}"
    if isinstance(value, Mapping) and value:
        return f"\n{' ' * (indent + 2)}{mapping(value, indent + 2)}"
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
    return mapping(value, 0) + "\n"


def _is_small(value: Mapping[str, Any]) -> bool:
    return "id" not in value and not any(isinstance(item, Mapping | list | tuple) for item in value.values())


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


_COMMENT = re.compile(r"#[^\n\r]*")
_HEADER_COMMENT = re.compile(r"[|>][-+0-9]*[ \t]+(#[^\n\r]*)")


def _order(edit: tuple[int, int, int, str]) -> tuple[int, bool, int]:
    """From the front; in one place what is put in comes before what is taken out, and what lies deeper comes first."""
    start, end, depth, _ = edit
    return start, end > start, -depth


class Edits:
    """Edits of one document, gathered first and applied together by ``text``."""

    def __init__(self, doc: YamlDoc) -> None:
        self.doc = doc
        self.source = doc.text
        self._marks = _Marks(doc.text)
        self._edits: list[tuple[int, int, int, str]] = []
        self._newline = "\r\n" if "\r\n" in doc.text else "\n"

    def set(self, keys: Keys, name: str, value: Any) -> None:
        """Give ``name`` in the mapping at ``keys`` this value; it is added at the mapping's end if it is not there."""
        node = self._mapping(keys)
        pair = next((item for item in node.value if item[0].value == name), None)
        if pair is None:
            self._add(node, name, value, len(keys))
        else:
            self._replace(node, pair[0], pair[1], value)

    def remove(self, keys: Keys, name: str, default: Any) -> None:
        """Take ``name`` out of the mapping at ``keys``; where its line cannot go, it is given its default instead."""
        node = self._mapping(keys)
        pair = next((item for item in node.value if item[0].value == name), None)
        if pair is None:
            return
        key, value = pair
        start = self._line_start(key.start_mark.index)
        alone = not self.source[start : key.start_mark.index].strip()
        if node.flow_style:
            spans = [(name.start_mark.index, self._end(held, name)) for name, held in node.value]
            self._cut_flow(spans, {node.value.index(pair)})
        elif not alone or len(node.value) == 1:
            self._replace(node, key, value, default)
        else:
            self._cut_lines(start, self._end(value, key))

    def remove_items(self, keys: Keys, positions: Collection[int]) -> None:
        """Take these items out of the list at ``keys``."""
        node = self._sequence(keys)
        if node.flow_style:
            spans = [(item.start_mark.index, self._end(item)) for item in node.value]
            self._cut_flow(spans, positions)
            return
        for position in positions:
            item = node.value[position]
            self._cut_lines(self._line_start(self._dash(item)), self._end(item))

    def insert_items(self, keys: Keys, after: int | None, items: list[Mapping[str, Any]]) -> None:
        """Put items behind the one at position ``after``, or at the list's end."""
        node = self._sequence(keys)
        if node.flow_style:
            lines = ", ".join(inline(item, in_flow=True) for item in items)
            self._put_in_flow(node, lines, None if after is None else node.value[after])
            return
        column = self._column(self._dash(node.value[0]))
        place = node if after is None else node.value[after]
        text = "\n".join(block_item(item, column) for item in items)
        self._insert_lines(self._end(place), text, len(keys))

    def text(self) -> str:
        """The document with all edits made."""
        parts: list[str] = []
        cursor = 0
        for start, end, _, replacement in sorted(self._edits, key=_order):
            if start < cursor:
                raise self._cannot("two edits overlap", ())
            parts += (self.source[cursor:start], replacement.replace("\n", self._newline))
            cursor = end
        return "".join((*parts, self.source[cursor:]))

    def _add(self, node: MappingNode, name: str, value: Any, depth: int) -> None:
        if node.flow_style:
            self._put_in_flow(node, f"{inline(name, in_flow=True)}: {inline(value, in_flow=True)}", None)
            return
        column = self._column(node.value[0][0].start_mark.index)
        self._insert_lines(self._end(node), " " * column + entry(name, value, column), depth)

    def _replace(self, node: MappingNode, key: Node, value: Node, new: Any) -> None:
        start = self._marks.colon_end(key)
        if start is None:
            raise self._cannot(f"the key {key.value!r} is written in a form that cannot be edited in place", ())
        end = max(start, len(self.source[: self._end(value, key)].rstrip()))
        if node.flow_style:
            self._edits.append((start, end, 0, f" {inline(new, in_flow=True)}"))
            return
        column = self._column(key.start_mark.index)
        rendered = after_colon(new, column)
        if "\n" in rendered and self.source[end : self._line_end(end)].strip():
            if isinstance(new, str):
                rendered = f" {inline(new)}"
            else:
                end = len(self.source[: self._line_end(end)].rstrip())
        self._keep_comments(start, end, self._line_start(key.start_mark.index))
        self._edits.append((start, end, 0, rendered))

    def _keep_comments(self, start: int, end: int, where: int) -> None:
        line = self.source[where : self._line_end(where)]
        blanks = line[: len(line) - len(line.lstrip())]
        comments = "".join(f"{blanks}{comment}\n" for comment in self._marks.comments(start, end))
        if comments:
            self._edits.append((where, where, -1, comments))

    def _cut_lines(self, start: int, end: int) -> None:
        stop = self._line_after(end)
        line = self.source[start:stop]
        blanks = line[: len(line) - len(line.lstrip())]
        comments = "".join(f"{blanks}{comment}\n" for comment in self._marks.comments(start, stop))
        self._edits.append((start, stop, 0, comments))

    def _cut_flow(self, items: list[tuple[int, int]], gone: Collection[int]) -> None:
        """Take these of the items out of ``[..]`` or ``{..}``, with the comma that parts them from what stays."""
        last_kept = max((n for n in range(len(items)) if n not in gone), default=-1)
        spans = [(items[n][0], items[n + 1][0]) for n in sorted(gone) if n < last_kept]
        if last_kept < len(items) - 1:
            start = items[last_kept][1] if last_kept >= 0 else items[0][0]
            spans.append((start, items[-1][1]))
        for start, end in spans:
            comments = "".join(f"\n{comment}\n" for comment in self._marks.comments(start, end))
            self._edits.append((start, end, 0, comments))

    def _put_in_flow(self, node: Node, text: str, after: Node | None) -> None:
        if after is not None:
            place = after.end_mark.index
            self._edits.append((place, place, 0, f", {text}"))
            return
        place = node.end_mark.index - 1
        before = self._marks.last_end(place)
        comma = "" if not node.value or self.source[before - 1] == "," else ", "
        self._edits.append((before, before, 0, comma + text))

    def _insert_lines(self, end: int, text: str, depth: int) -> None:
        place = self._line_after(end)
        ended = place == 0 or self.source[place - 1] == "\n"
        self._edits.append((place, place, depth, f"{text}\n" if ended else f"\n{text}"))

    def _end(self, node: Node, key: Node = None) -> int:
        """Where the last character of the node's content stands, trailing comments and blank lines not counted."""
        colon = self._marks.colon_end(key) if key is not None else None
        if colon is not None and node.start_mark.index < colon:
            return self._marks.next_end(colon)
        if node.id == "scalar" and colon is not None and node.end_mark.index == node.start_mark.index:
            return colon
        return self._marks.last_end(node.end_mark.index)

    def _dash(self, item: Node) -> int:
        place = self._marks.dash_before(item.start_mark.index)
        before = self.source[self._line_start(place) : place] if place is not None else "?"
        if place is None or before.strip():
            raise self._cannot("the list is written in a form that cannot be edited in place", ())
        return place

    def _mapping(self, keys: Keys) -> MappingNode:
        node = self.doc.node(*keys)
        if node is None or node.id != "mapping" or (not node.value and not node.flow_style):
            raise self._cannot("there should be a mapping here", keys)
        mapping: MappingNode = node
        return mapping

    def _sequence(self, keys: Keys) -> SequenceNode:
        node = self.doc.node(*keys)
        if node is None or node.id != "sequence":
            raise self._cannot("there should be a list here", keys)
        sequence: SequenceNode = node
        return sequence

    def _cannot(self, message: str, keys: Keys) -> InputError:
        return self.doc.fail(f"{message}; nothing was written", *keys)

    def _line_start(self, place: int) -> int:
        return self.source.rfind("\n", 0, place) + 1

    def _line_after(self, end: int) -> int:
        """The start of the line behind content that ends here; a block text may have taken its line end along."""
        return end if end and self.source[end - 1] == "\n" else self._line_end(end)

    def _line_end(self, place: int) -> int:
        end = self.source.find("\n", place)
        return len(self.source) if end < 0 else end + 1

    def _column(self, place: int) -> int:
        return place - self._line_start(place)


class _Marks:
    """Where tokens and comments stand in a YAML text."""

    def __init__(self, text: str) -> None:
        from ruamel.yaml import YAML

        self.starts: list[int] = []
        self.ends: list[int] = []
        self.names: list[str] = []
        self._comments: list[tuple[int, str]] = []
        cursor = 0
        for token in YAML(typ="safe", pure=True).scan(text):
            start, end = token.start_mark.index, token.end_mark.index
            self._gap(text, cursor, start)
            cursor = max(cursor, end)
            if end > start:
                self._token(text, start, end, type(token).__name__)
        self._gap(text, cursor, len(text))

    def _token(self, text: str, start: int, end: int, name: str) -> None:
        self.starts.append(start)
        self.names.append(name)
        block = name == "ScalarToken" and text[start] in "|>"
        if not block:
            self.ends.append(end)
            return
        header = _HEADER_COMMENT.match(text, start, end)
        if header:
            self._comments.append((header.start(1), header.group(1)))
        keeps = "+" in text[start : text.find("\n", start, end)].split("#")[0]
        self.ends.append(end if keeps else len(text[:end].rstrip()))

    def _gap(self, text: str, start: int, end: int) -> None:
        for match in _COMMENT.finditer(text, start, max(start, end)):
            self._comments.append((match.start(), match.group()))

    def comments(self, start: int, end: int) -> list[str]:
        return [comment for place, comment in sorted(self._comments) if start <= place < end]

    def colon_end(self, key: Node) -> int | None:
        at = bisect_left(self.starts, key.end_mark.index)
        if at < len(self.names) and self.names[at] == "ValueToken":
            return self.ends[at]
        return None

    def next_end(self, place: int) -> int:
        return self.ends[bisect_left(self.starts, place)]

    def last_end(self, place: int) -> int:
        at = bisect_left(self.starts, place) - 1
        return self.ends[at] if at >= 0 else 0

    def dash_before(self, place: int) -> int | None:
        at = bisect_left(self.starts, place) - 1
        return self.starts[at] if at >= 0 and self.names[at] == "BlockEntryToken" else None
