"""The package as parsed modules, with the name by which each is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "promptpex"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = FunctionNode | ast.ClassDef

_KINDS = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
_LEAVES = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind"})
_FIELDS = {kind: tuple(name for name in kind._fields if name not in _LEAVES) for kind in _KINDS}
"""Of each kind of node, the fields in which there may be others that are counted."""


@dataclass(frozen=True)
class Module:
    """A source file: its dotted name, its path from the root, and its tree."""

    name: str
    path: str
    lines: int
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, walked once for all figures."""
        return tuple(walk(self.tree))

    def functions(self) -> Iterator[FunctionNode]:
        """Every function and method, nested ones included."""
        return (node for node in self.nodes if isinstance(node, FunctionNode))

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))


def walk(node: ast.AST) -> list[ast.AST]:
    """What ``ast.walk`` gives, in its order, but for the contexts of names and the operators, which nobody counts."""
    nodes = [node]
    for one in nodes:
        for name in _FIELDS[type(one)]:
            value = getattr(one, name, None)
            if isinstance(value, list):
                nodes += [inner for inner in value if isinstance(inner, ast.AST)]
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


@cache
def modules(folder: Path = ROOT / PACKAGE, words: frozenset[str] = frozenset()) -> list[Module]:
    """Every module below a package's folder, by path; read once, so do not change the list.

    With ``words``, only those in whose text one of them is: the others need not be parsed where these are looked for.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}
    chosen = (path for path, text in texts.items() if not words or any(word in text for word in words))
    return [_module(path, texts[path], folder) for path in chosen]


def _module(path: Path, text: str, folder: Path) -> Module:
    relative = path.relative_to(folder.parent)
    parts = relative.with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, relative.as_posix(), len(text.splitlines()), ast.parse(text))


def length(node: Definition) -> int:
    """Lines of a definition, decorators not counted."""
    return (node.end_lineno or node.lineno) - node.lineno + 1
