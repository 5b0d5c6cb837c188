"""Fields of dataclasses that nothing reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from measuring.tree import Module


def unread_fields(modules: Iterable[Module], pages: str = "") -> list[str]:
    """Fields of dataclasses of whose name no attribute is read, in any module; each with its file and class.

    A text that is such a name counts as a use, since it may be a column, and so does each word of ``pages``, the texts
    of templates: the answer errs towards "read".
    """
    parts = list(modules)
    read = {name for one in parts for node in one.nodes for name in _read(node)} | set(re.findall(r"\w+", pages))
    return [f"{one.path} {owner}.{name}" for one in parts for owner, name in _fields(one) if name not in read]


def _read(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.MatchClass):
        yield from node.kwd_attrs
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _fields(module: Module) -> Iterator[tuple[str, str]]:
    """The class and the name of each field."""
    for owner in module.classes():
        if any("dataclass" in ast.unparse(one) for one in owner.decorator_list):
            for part in owner.body:
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    yield owner.name, part.target.id
