"""Which definitions of the package nothing in the package reaches.

A definition is a function, class or constant of a module, or a method of a class. It is used when code that is itself
used names it: by its own name in its module, through an import, or as an attribute. A method counts as used when its
class is and any attribute of its name is read, so the answer errs towards "used". Names in ``__all__`` and in
re-exports are not uses; the public names of the package's root and commands are.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from measuring.tree import PACKAGE, FunctionNode, Module, walk

NEUTRAL = frozenset(
    {
        *("staticmethod", "classmethod", "property", "setter", "cached_property", "cache", "lru_cache", "dataclass"),
        *("contextmanager", "asynccontextmanager", "abstractmethod", "override", "final", "overload", "wraps"),
        *("total_ordering", "runtime_checkable", "singledispatch"),
    }
)
"""Decorators that change a definition and do not hand it to anyone; any other one registers it, which is a use."""

DYNAMIC = frozenset({"import_module", "getattr", "hasattr", "attrgetter", "methodcaller"})
"""Calls after which a text may be the name of a definition."""

Key = tuple[str, str]
"""A module and a name in it; a method's name is ``Class.method``."""


@dataclass(eq=False)
class Entry:
    """A definition, and what its body names.

    Attributes:
        registered: a decorator hands it to somebody.
        node: its code, where it is one statement.
        names, attributes: what it reads; an attribute with the name that it is read from, if it is a plain one.
        dynamic: it imports modules by name, so an attribute of one may be any definition of that name.
    """

    key: Key
    path: str
    line: int
    registered: bool
    node: ast.stmt | None = None
    names: set[str] = field(default_factory=set)
    attributes: set[tuple[str, str]] = field(default_factory=set)
    dynamic: bool = False


@dataclass
class Usage:
    """The definitions of a package and what reaches them.

    Attributes:
        modules: all modules of the package.
        pages: texts of templates: every word in them counts as an attribute that is read.
        kept: dotted names of definitions that count as used.
    """

    modules: list[Module]
    pages: str = ""
    kept: frozenset[str] = frozenset()
    _edges: dict[Key, tuple[Key, ...]] = field(default_factory=dict)

    @cached_property
    def entries(self) -> dict[Key, Entry]:
        made: dict[Key, Entry] = {}
        for entry in (entry for module in self.modules for entry in _entries(module)):
            if (other := made.setdefault(entry.key, entry)) is not entry:  # one for each system, under ``if``
                other.names |= entry.names
                other.attributes |= entry.attributes
        return made

    @cached_property
    def imports(self) -> dict[str, dict[str, Key]]:
        """Of each module, what its imported names stand for: a name in another module or package."""
        return {module.name: dict(_imported(module)) for module in self.modules}

    def unused(self) -> list[Entry]:
        """The definitions that nothing reaches, in the order of the files."""
        reached = self._reached()
        lost = [entry for key, entry in self.entries.items() if key not in reached and not _is_dunder(key[1])]
        whole = {entry.key for entry in lost}
        return [entry for entry in lost if (entry.key[0], entry.key[1].partition(".")[0]) not in whole - {entry.key}]

    def _reached(self) -> set[Key]:
        return self.reached_from(
            key for key, entry in self.entries.items() if _is_root(entry) or ".".join(key) in self.kept
        )

    def reached_from(self, roots: Iterable[Key]) -> set[Key]:
        """The definitions that some definitions reach, themselves included."""
        reached: set[Key] = set()
        read: set[str] = set(re.findall(r"\w+", self.pages))
        todo = list(roots)
        waiting = {key for key in self.entries if "." in key[1]}
        while todo or (todo := self._methods(waiting - reached, reached, read)):
            key = todo.pop()
            if key in reached or key not in self.entries:
                continue
            reached.add(key)
            entry = self.entries[key]
            read |= {name for _, name in entry.attributes}
            if key not in self._edges:
                self._edges[key] = tuple(self._named(entry))
            todo += self._edges[key]
        return reached

    def _methods(self, waiting: set[Key], reached: set[Key], read: set[str]) -> list[Key]:
        """Methods of classes that are used, whose name is read somewhere or that answer a foreign caller."""
        return [
            key
            for key in waiting
            if (key[0], key[1].partition(".")[0]) in reached
            and (key[1].partition(".")[2] in read or self.entries[key].registered or _is_foreign(key))
        ]

    def _named(self, entry: Entry) -> Iterator[Key]:
        module = entry.key[0]
        for name in entry.names:
            yield from self._resolved((module, name))
        for base, name in entry.attributes:
            target = self.imports[module].get(base)
            if target is not None:
                home, inner = self._end(target)
                if not inner:
                    yield from self._resolved((home, name))
            elif entry.dynamic:
                yield from (key for key in self.entries if key[1] == name)

    def _resolved(self, key: Key) -> Iterator[Key]:
        if key in self.entries:
            yield key
            return
        target = self.imports.get(key[0], {}).get(key[1])
        if target is not None:
            yield self._end(target)

    def _end(self, key: Key) -> Key:
        """Where an import leads, through packages that hand on what they import; a module has the name ``""``."""
        seen: set[Key] = set()
        while key not in self.entries and key not in seen:
            seen.add(key)
            key = self.imports.get(key[0], {}).get(key[1], key)
        inner = f"{key[0]}.{key[1]}"
        return (inner, "") if key not in self.entries and inner in self.imports else key


def templates(root: Path) -> str:
    """The text of all templates in the package."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((root / PACKAGE).rglob("*.jinja")))


@cache
def _entries(module: Module) -> tuple[Entry, ...]:
    """The definitions of a module and its loose code, collected once."""
    return tuple(_collected(module))


def _collected(module: Module) -> Iterator[Entry]:
    loose = Entry((module.name, "<module>"), module.path, 1, True)
    calls = (node for node in module.nodes if isinstance(node, ast.Call))
    by_name = any(_called(node.func) == "import_module" for node in calls)
    for node in _top(module.tree.body):
        if isinstance(node, FunctionNode):
            yield _entry(module, node.name, node, _registers(node))
        elif isinstance(node, ast.ClassDef):
            yield from _class(module, node)
        elif (name := _constant(node)) is not None:
            entry = _entry(module, name, node, False)
            if by_name and isinstance(value := getattr(node, "value", None), ast.Constant):
                entry.dynamic, entry.attributes = True, {("", str(value.value))}
            yield entry
        else:
            _collect(node, loose)
    yield loose


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module; those under ``if`` and ``try`` as if they stood alone."""
    for node in body:
        if isinstance(node, ast.If):
            yield ast.Expr(node.test)
            yield from _top([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _top([*node.body, *(one for handler in node.handlers for one in handler.body), *node.orelse])
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _class(module: Module, node: ast.ClassDef) -> Iterator[Entry]:
    own = Entry((module.name, node.name), module.path, node.lineno, _registers(node))
    for part in (*node.bases, *node.keywords, *node.decorator_list):
        _collect(part, own)
    for child in node.body:
        if isinstance(child, FunctionNode) and not _is_dunder(child.name):
            yield _entry(module, f"{node.name}.{child.name}", child, _registers(child))
        else:
            _collect(child, own)
    yield own


def _constant(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def _entry(module: Module, name: str, node: ast.stmt, registered: bool) -> Entry:
    entry = Entry((module.name, name), module.path, node.lineno, registered, node)
    _collect(node, entry)
    entry.names -= _bound(node) if isinstance(node, FunctionNode) else set()
    return entry


def _bound(function: FunctionNode) -> set[str]:
    """The names that a function itself binds, its arguments and what it assigns to, which hide those of its module."""
    own = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    wide: set[str] = set()
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            wide |= {*node.names}
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            own.add(node.id)
        if not isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef | ast.comprehension):
            todo += ast.iter_child_nodes(node)
    return own - wide


def _collect(node: ast.AST, entry: Entry) -> None:
    """Notes each name and attribute that a piece of code reads; ``__all__`` reads nothing."""
    if entry.key[1] == "__all__":
        return
    inside = walk(node)
    calls = {_called(one.func) for one in inside if isinstance(one, ast.Call)}
    entry.dynamic |= "import_module" in calls
    dynamic = bool(calls & DYNAMIC)
    for one in inside:
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            entry.names.add(one.id)
        elif isinstance(one, ast.Attribute):
            base = one.value.id if isinstance(one.value, ast.Name) else ""
            entry.attributes.add((base, one.attr))
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            _text(one.value, entry, dynamic)
        elif isinstance(one, ast.MatchClass):
            entry.attributes |= {("", name) for name in one.kwd_attrs}


def _text(text: str, entry: Entry, dynamic: bool) -> None:
    """A text as a quoted annotation, or as a name that is looked up."""
    entry.attributes |= {("", name) for name in re.findall(r"\benvironment\.(\w+)\(", text)}  # code made as text
    if text.isidentifier() and dynamic:
        entry.attributes.add(("", text))
    elif re.fullmatch(r"[\w.\[\], |]+", text) and "." not in text and "[" in text:
        entry.names |= set(re.findall(r"\w+", text))
    elif text.isidentifier() and text[:1].isupper():
        entry.names.add(text)


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _registers(node: FunctionNode | ast.ClassDef) -> bool:
    names = (_called(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list)
    return any(name not in NEUTRAL for name in names)


def _is_dunder(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last.startswith("__") and last.endswith("__")


def _is_root(entry: Entry) -> bool:
    module, name = entry.key
    return (
        name == "<module>"
        or (entry.registered and "." not in name)
        or (_is_dunder(name) and name != "__all__")
        or name.startswith("pytest_")  # hooks, which pytest finds by their names
        or (module == f"{PACKAGE}.__main__" and name == "main")
        or entry.key in public_names()
    )


@cache
def public_names() -> set[Key]:
    """What ``import promptpex`` offers: the function or class behind each name; of a module, nothing."""
    root = importlib.import_module(PACKAGE)
    homes: dict[str, tuple[str, str | None]] = root._HOMES
    return {(module, name) for module, name in homes.values() if name is not None}


@cache
def _is_foreign(key: Key) -> bool:
    """Whether a method takes the place of one that a class of another library or of Python has, or is one that
    notebooks look for."""
    name, _, method = key[1].partition(".")
    return method == "_repr_html_" or any(method in vars(base) for base in foreign_bases(key[0], name))


@cache
def foreign_bases(module: str, name: str) -> list[type]:
    """The classes of other libraries, and of Python, that a class of the package inherits from."""
    try:
        owner = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError:  # a part that is made up, in tests
        return []
    bases = owner.__mro__[1:] if isinstance(owner, type) else ()
    return [base for base in bases if not base.__module__.startswith(PACKAGE)]


def _imported(module: Module) -> Iterator[tuple[str, Key]]:
    """Local name of each import from the package, and what it stands for."""
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            yield from ((alias.asname or alias.name, (str(node.module), alias.name)) for alias in node.names)
