"""The nodes of a YAML text by libyaml, in C: many times as fast as ruamel's reader in Python.

libyaml follows YAML 1.1 and drops some details of the text. Where its result might differ from that of ruamel, which
reads YAML 1.2, it is not used: ``compose`` raises ``Unsure``, and ``yaml_reader`` reads the text with ruamel. The same
holds for text that libyaml refuses, so that the error and its line always come from one reader.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml import events, nodes, tokens

STANDARD_TAG = "tag:yaml.org,2002:"
UNTAGGED = "?"
"""The tag of what has none and no quotes (YAML 1.2.2, section 3.3.2): what it means is up to the schema."""

MAX_DEPTH = 60
DEEPEST = 100
"""Levels of nesting beyond which composing ends; ``yaml_reader`` takes ``MAX_DEPTH``."""

_BREAKS = re.compile("[\x85\u2028\u2029\ufeff]")
"""Line ends in YAML 1.1 and none in 1.2, and byte order marks, which 1.1 allows in more places."""
_NAMED = re.compile(r"[&*][A-Za-z0-9_-]+(?=[ \r\n,\]}]|\Z)")
_BLOCK = re.compile(r"[|>][-+0-9]*(?: +#[^\r\n]*| *)(?:[\r\n](?!(?: *[\r\n])* +(?:[\r\n]|\Z))|\Z)")
"""How a block of text may begin: a header, and no line of blanks before the first that shows how far it is indented."""
_LOADER: Any = getattr(yaml, "CSafeLoader", None)


class Unsure(Exception):
    """Whether libyaml reads this text as YAML 1.2 does is not known.

    Attributes:
        why: what libyaml says is wrong; empty where it read the text.
        line: where, from 0.
    """

    def __init__(self, why: str = "", line: int = 0) -> None:
        super().__init__(why)
        self.why, self.line = why, line


class TooDeep(Exception):
    """The text is nested deeper than ``DEEPEST``; ``line`` is where, from 0."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line

    @staticmethod
    def sentence(what: str) -> str:
        return f"the {what} is nested more than {MAX_DEPTH} deep"


def compose(text: str) -> Any:
    """The root of the only document, made of PyYAML's nodes; None where there is none.

    Raises:
        Unsure: as the module says; also where PyYAML comes without libyaml.
        TooDeep: nobody reads it on: the slower reader would take seconds to say the same.
    """
    if _LOADER is None or _BREAKS.search(text) or _document_ends(text) > 1:
        raise Unsure
    try:
        if "\t" in text and not _tabs_in_quotes(text):
            raise Unsure
        return _Composer(text).root()
    except yaml.MarkedYAMLError as failure:
        line = failure.problem_mark.line if failure.problem_mark is not None else 0
        raise Unsure(" ".join(part for part in (failure.context, failure.problem) if part), line) from failure
    except (yaml.YAMLError, ValueError) as failure:
        raise Unsure from failure


def _document_ends(text: str) -> int:
    """How many lines may end a document: libyaml takes any number of them for one, ruamel does not always."""
    return text.count("\n...") + text.count("\r...") + text.startswith("...")


def _pairs(items: list[Any]) -> list[tuple[Any, Any]]:
    """The keys and values of a mapping; the place of a key that is not there (``? : value``) is not surely the same."""
    keys = items[::2]
    if any(key.value == "" for key in keys):
        raise Unsure
    return list(zip(keys, items[1::2], strict=True))


def _tabs_in_quotes(text: str) -> bool:
    """Whether every tab stands in quotes or in a block of text; elsewhere libyaml takes more of them for blanks."""
    quoted_tabs = 0
    for token in yaml.scan(text, Loader=_LOADER):
        if type(token) is tokens.ScalarToken and token.style:
            quoted_tabs += text.count("\t", token.start_mark.index, token.end_mark.index)
    return quoted_tabs == text.count("\t")


class _Composer:
    """Nodes from events, without recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._anchors: dict[str, Any] = {}

    def root(self) -> Any:
        top: list[Any] = []
        items, outer = top, []
        for event in yaml.parse(self._text, Loader=_LOADER):
            kind = type(event)
            if kind is events.ScalarEvent:
                items.append(self._named(event, self._scalar(event)))
            elif kind is events.SequenceStartEvent or kind is events.MappingStartEvent:
                outer.append(items)
                if len(outer) > DEEPEST:
                    raise TooDeep(event.start_mark.line)
                node_kind = nodes.SequenceNode if kind is events.SequenceStartEvent else nodes.MappingNode
                node = self._named(event, node_kind(UNTAGGED, [], event.start_mark))
                items.append(node)
                items = node.value
            elif kind is events.SequenceEndEvent:
                items = outer.pop()
            elif kind is events.MappingEndEvent:
                items[:] = _pairs(items)
                items = outer.pop()
            elif kind is events.AliasEvent:
                items.append(self._alias(event))
            elif kind is events.DocumentStartEvent and (top or event.version or event.tags):
                raise Unsure
        if top and top[0].id == "scalar":
            raise Unsure
        return top[0] if top else None

    def _scalar(self, event: Any) -> Any:
        style, place = event.style, event.start_mark.index
        if not style:
            if event.value[:1] == "?":
                raise Unsure
            return nodes.ScalarNode(UNTAGGED, event.value, event.start_mark)
        if style in "|>" and not _BLOCK.match(self._text, place):
            raise Unsure
        return nodes.ScalarNode(f"{STANDARD_TAG}str", event.value, event.start_mark, style=style)

    def _named(self, event: Any, node: Any) -> Any:
        if event.tag is not None:
            raise Unsure
        if event.anchor is not None:
            if not _NAMED.match(self._text, event.start_mark.index):
                raise Unsure
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors or not _NAMED.match(self._text, event.start_mark.index):
            raise Unsure
        return self._anchors[event.anchor]
