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
        return tuple(ast.walk(self.tree))

    def functions(self) -> Iterator[FunctionNode]:
        """Every function and method, nested ones included."""
        return (node for node in self.nodes if isinstance(node, FunctionNode))

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))


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
