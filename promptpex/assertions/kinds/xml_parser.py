"""XML, strictly and laxly read into plain data: elements as objects, repeated ones as lists, attributes as ``@_name``.

Strict is well-formed XML 1.0 with namespaces, by expat, an internal DTD refused. Lax takes what models write:
attributes without quotes, unknown entities, bare ``<`` in text; it looks for balanced elements inside of other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias
from xml.parsers import expat

from promptpex.core.translation import stored

Element: TypeAlias = "dict[str, Tree]"
Tree: TypeAlias = "Element | list[Tree] | str"


class NotXml(ValueError):
    """The text is not well-formed."""


class _TreeBuilder:
    """Collects what a parser meets; the root is a nameless object."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.nodes: list[Element] = [{}]
        self.texts: list[list[str]] = [[]]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.nodes) > 500:
            raise NotXml(stored("it nests too deep"))
        self.names.append(name)
        self.nodes.append({f"@_{key}": value for key, value in attributes.items()})
        self.texts.append([])

    def text(self, data: str) -> None:
        self.texts[-1].append(data)

    def end(self, name: str) -> None:
        node, words = self.nodes.pop(), "".join(self.texts.pop()).strip()
        if node and words:
            node["#text"] = words
        add(self.nodes[-1], self.names.pop(), node or words)


def add(parent: Element, name: str, value: Tree) -> None:
    """Put an element in; several of one name become a list."""
    if name not in parent:
        parent[name] = value
        return
    others = parent[name]
    if isinstance(others, list):
        others.append(value)
    else:
        parent[name] = [others, value]


def strict(source: str) -> Element:
    """The document as ``{root: ...}``.

    Raises:
        NotXml: it is not well-formed, or has a DTD inside.
    """
    raw = source.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    _feed(expat.ParserCreate("utf-8", namespace_separator=" "), raw)
    builder = _TreeBuilder()
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    _feed(parser, raw)
    return builder.nodes[0]


def _feed(parser: expat.XMLParserType, raw: bytes) -> None:
    parser.StartDoctypeDeclHandler = _refuse_dtd
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise NotXml(str(error)) from error


def _refuse_dtd(name: str, system: str | None, public: str | None, internal: bool | int) -> None:
    if internal:
        raise NotXml(stored("it holds a DTD"))


_NAME = r"[^\W\d][\w.\-:]*"
_TOKEN = re.compile(
    rf"<!--.*?-->|<!\[CDATA\[(?P<cdata>.*?)\]\]>|</(?P<close>{_NAME})\s*>"
    rf"|<(?P<open>{_NAME})(?P<attributes>(?:\s+(?:\"[^\"]*\"|'[^']*'|[^\s<>\"'])+)*)\s*(?P<empty>/)?>",
    re.S,
)
_ATTRIBUTE = re.compile(r"([^\s=\"'<>/]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+)))?")
_MAX_STEPS = 200_000
"""Tags that are looked at in the search for balanced elements."""


def pieces(source: str) -> Iterator[tuple[str, Tree]]:
    """The balanced elements in a text, from left to right, those inside of another left out."""
    tokens = [match for match in _TOKEN.finditer(_closable(source)) if match.group("open") or match.group("close")]
    at, steps = 0, 0
    while at < len(tokens) and steps < _MAX_STEPS:
        if not tokens[at].group("open"):
            at += 1
            continue
        end = _balanced(tokens, at)
        steps += abs(end) - at
        if end > 0:
            yield _read(source, tokens[at:end])
        at = end if end > 0 else at + 1


def _closable(source: str) -> str:
    """The text without openings of comments and CDATA that nothing closes: each would be looked at to the very end."""
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>")):
        last = max(source.rfind(closing), 0)
        source = source[:last] + source[last:].replace(opening, " " * len(opening))
    return source


def _balanced(tokens: list[re.Match[str]], start: int) -> int:
    """Where the element that starts here ends; the negative of where it went wrong if it does not."""
    stack: list[str] = []
    for index in range(start, len(tokens)):
        opened, closed = tokens[index].group("open"), tokens[index].group("close")
        if opened and not _is_empty(tokens[index]):
            stack.append(opened)
        elif closed and (not stack or stack.pop() != closed):
            return -index - 1
        if not stack:
            return index + 1
        if len(stack) > 400:
            return -index - 1
    return -len(tokens) - 1


def _is_empty(token: re.Match[str]) -> bool:
    return token.group("empty") is not None or token.group("attributes").endswith("/")


def _read(source: str, tokens: list[re.Match[str]]) -> tuple[str, Tree]:
    builder = _TreeBuilder()
    before = tokens[0].start()
    for token in tokens:
        builder.text(source[before : token.start()])
        before = token.end()
        if token.group("open"):
            builder.start(token.group("open"), _attributes(token.group("attributes")))
        if token.group("close") or _is_empty(token):
            builder.end(token.group("close") or token.group("open"))
    name, tree = next(iter(builder.nodes[0].items()))
    return name, tree


def _attributes(source: str) -> dict[str, str]:
    return {match.group(1): _first(match.groups()[1:]) for match in _ATTRIBUTE.finditer(source)}


def _first(values: Iterable[str | None]) -> str:
    return next((value for value in values if value is not None), "")


def reaches(tree: object, path: str) -> bool:
    """Whether a dotted path such as ``root.user.0.name`` leads to something."""
    for step in path.split("."):
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
        elif isinstance(tree, list) and step.isascii() and step.isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            return False
    return True
