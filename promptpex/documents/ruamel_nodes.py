"""The nodes of a YAML text by ruamel, which reads YAML 1.2 in Python: the reader that decides what is valid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import CollectionStartEvent
from ruamel.yaml.nodes import Node, ScalarNode
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.tag import Tag

from promptpex.core.errors import InputError
from promptpex.documents.libyaml_nodes import DEEPEST, STANDARD_TAG, UNTAGGED, TooDeep


class _Untyped(VersionedResolver):
    """Leaves it to the schema what a value without a tag means."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Tag:
        return Tag(suffix=f"{STANDARD_TAG}str" if kind is ScalarNode and not implicit[0] else UNTAGGED)


class _Shallow(Composer):
    """Ends where the text is nested deeper than anybody takes, before the recursion does."""

    levels = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        if not isinstance(event, CollectionStartEvent):
            return super().compose_node(parent, index)
        self.levels += 1
        if self.levels > DEEPEST:
            raise TooDeep(event.start_mark.line)
        node = super().compose_node(parent, index)
        self.levels -= 1
        return node


def compose(text: str, *, path: Path | str | None, error: type[InputError], what: str, first_line: int) -> Node | None:
    """The root of the only document, None where there is none; every node knows where it begins and ends."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Resolver = _Untyped
    yaml.Composer = _Shallow
    yaml.composer.warn_double_anchors = False  # YAML 1.2.2, 3.2.2.2: an anchor may be used again
    try:
        root: Node | None = yaml.compose(text)
    except MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        line = mark.line + first_line if mark is not None else None
        reason = " ".join(part for part in (failure.context, failure.problem) if part)
        raise error(f"the {what} is not valid YAML: {reason}", path=path, line=line) from None
    except (YAMLError, ValueError, AssertionError, IndexError, AttributeError, TypeError, OverflowError) as failure:
        reason = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
        raise error(f"the {what} is not valid YAML: {reason}", path=path) from None
    except TooDeep as failure:
        raise error(failure.sentence(what), path=path, line=failure.line + first_line) from None
    return root
