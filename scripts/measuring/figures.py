"""What is counted in the package: sizes, ``Any``, names, and parts of other libraries that are private."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from measuring.tree import PACKAGE, FunctionNode, Module, length
from measuring.usage import foreign_bases

SMALL_FILE = 30
"""Lines below which a file needs a reason; a package's ``__init__`` and ``__main__`` have one."""

DOCUMENTED = frozenset({"os._exit", "sys._getframe"})
"""Parts of Python that are public in spite of their names."""

PRIVATE_MODULE = re.compile(r"(?!promptpex)[a-z]\w*(\.[a-z]\w*)*\._[a-z]\w*(\.\w+)*")
"""The name of a module in a text, as for ``sys.modules``."""

NARRATION = frozenset({"found", "said", "told"})
"""Names that tell what happened instead of what they hold."""

PRIVATE_WORDS = frozenset(
    {
        "footing", "giveaway", "kin", "lame", "linger", "mended", "patience", "residue", "rests", "salad", "standing",
        "standings", "tallies", "twins",
    }
)  # fmt: skip
"""Words that only this project had for what its field calls otherwise."""

PROSE_TOO = PRIVATE_WORDS - {"mended", "patience", "rests", "standing", "twins"}
"""Those of them that mean nothing else in a sentence."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_YAML_KEY = re.compile(r"^\s*(?:- )?([A-Za-z][\w-]*):(?:\s|$)", re.MULTILINE)
_WORD = re.compile(r"[a-z]+")


def longest_function(modules: Iterable[Module]) -> tuple[int, str]:
    """Lines and place of the longest function."""
    return max((length(node), f"{one.path}:{node.lineno} {node.name}") for one in modules for node in one.functions())


def classes(parts: list[Module]) -> int:
    return sum(isinstance(node, ast.ClassDef) for part in parts for node in ast.walk(part.tree))


def longest_file(modules: Iterable[Module]) -> tuple[int, str]:
    """Lines and path of the longest file."""
    return max((one.lines, one.path) for one in modules)


def any_per_thousand(modules: Iterable[Module]) -> float:
    """How often ``Any`` is written per thousand lines, its imports not counted."""
    parts = list(modules)
    times = sum(isinstance(node, ast.Name) and node.id == "Any" for one in parts for node in one.nodes)
    return 1000 * times / sum(one.lines for one in parts)


def any_by_package(modules: Iterable[Module]) -> dict[str, int]:
    """How often ``Any`` is written in each top-level package, most first."""
    counted: Counter[str] = Counter()
    for one in modules:
        counted[top(one.name)] += sum(isinstance(node, ast.Name) and node.id == "Any" for node in one.nodes)
    return dict(counted.most_common())


def small_files(modules: Iterable[Module]) -> list[str]:
    """Paths of short files."""
    ends = ("__init__.py", "__main__.py")
    return [one.path for one in modules if one.lines < SMALL_FILE and not one.path.endswith(ends)]


def narration(modules: Iterable[Module]) -> list[str]:
    """Places where a variable, parameter, function or class is called ``found``, ``said`` or ``told``."""
    return [f"{path}:{line} {name}" for path, line, name in _names(modules) if name.strip("_").lower() in NARRATION]


def private_words(modules: Iterable[Module]) -> list[str]:
    """Places where one of the ``PRIVATE_WORDS`` is the name of a variable, parameter, function, class or file, or a
    part of one."""
    parts = list(modules)
    places = [f"{path}:{line} {name}" for path, line, name in _names(parts) if _words_of(name) & PRIVATE_WORDS]
    return places + [one.path for one in parts if _words_of(one.path.rpartition("/")[2]) & PRIVATE_WORDS]


def private_words_in_files(files: Iterable[Path]) -> list[str]:
    """Places where one of the ``PRIVATE_WORDS`` is a key of a YAML file, or one of ``PROSE_TOO`` a word of a page."""
    places = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            words = ((match.start(), match[0]) for match in _WORD.finditer(text.lower()) if match[0] in PROSE_TOO)
        else:
            words = ((key.start(), key[1]) for key in _YAML_KEY.finditer(text) if _words_of(key[1]) & PRIVATE_WORDS)
        places += [f"{path.name}:{text.count(chr(10), 0, at) + 1} {word}" for at, word in words]
    return places


def _words_of(name: str) -> set[str]:
    return {part.lower() for part in _PART.findall(name)}


def _names(modules: Iterable[Module]) -> list[tuple[str, int, str]]:
    """Path, line and name of all that code names."""
    parts = list(modules)
    places = [(one.path, line, name) for one in parts for line, name in sorted(_bound(one))]
    places += [
        (one.path, node.lineno, node.name)
        for one in parts
        for node in one.nodes
        if isinstance(node, FunctionNode | ast.ClassDef)
    ]
    return places


@cache
def _bound(module: Module) -> tuple[tuple[int, str], ...]:
    """The names that a module's code binds, with their lines."""
    return tuple(_bindings(module))


def _bindings(module: Module) -> Iterator[tuple[int, str]]:
    for node in module.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.lineno, node.name


def duplicate_classes(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Names that several classes share, with the files of the classes."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for one in modules:
        for node in one.classes():
            homes[node.name].append(one.path)
    return {name: paths for name, paths in sorted(homes.items()) if len(paths) > 1}


def top(name: str) -> str:
    """The top-level package or module that a dotted name is in; of the root itself, ``__init__``."""
    return name.split(".")[1] if "." in name else "__init__"


def folder_sizes(modules: Iterable[Module]) -> dict[str, int]:
    """How many files each folder holds directly, most first; its ``__init__`` is not counted."""
    counted = Counter(one.path.rpartition("/")[0] for one in modules if not one.is_package)
    return dict(counted.most_common())


def package_imports(modules: Iterable[Module]) -> set[tuple[str, str]]:
    """Which top-level package imports which."""
    parts = list(modules)
    names = {top(one.name) for one in parts}
    pairs = {(top(one.name), target) for one in parts for target in _targets(one, names)}
    return {(source, target) for source, target in pairs if source != target}


def _targets(module: Module, names: set[str]) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            inner = (node.module or "").split(".")[1:]
            yield from inner[:1] or (alias.name for alias in node.names if alias.name in names)


def levels(imports: set[tuple[str, str]]) -> int:
    """The number of levels: the longest way down through the imports, counted in packages."""
    below: dict[str, set[str]] = defaultdict(set)
    for source, target in imports:
        below[source].add(target)

    def depth(name: str, seen: frozenset[str] = frozenset()) -> int:
        if name in seen:
            raise ValueError(f"{name} imports itself through others")
        return 1 + max((depth(lower, seen | {name}) for lower in below[name]), default=0)

    return max(depth(name) for name in list(below))


def private_parts(modules: Iterable[Module]) -> list[str]:
    """Uses of what other libraries keep to themselves: ``_names`` read, imported or overridden."""
    parts = list(modules)
    own = {name for one in parts for _, name in _bound(one)} | {
        node.name for one in parts for node in one.nodes if isinstance(node, FunctionNode | ast.ClassDef)
    }
    own |= {
        node.attr
        for one in parts
        for node in one.nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return [f"{one.path}:{line} {name}" for one in parts for line, name in sorted(_private(one, own))]


def _private(module: Module, own: set[str]) -> Iterator[tuple[int, str]]:
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            if (text := ast.unparse(node)) not in DOCUMENTED:
                yield node.lineno, text
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] != PACKAGE:
            path = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from ((node.lineno, f"from {node.module}: {name}") for name in path if is_private(name))
        elif isinstance(node, ast.Call) and _is_getattr(node.func) and len(node.args) > 1:
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
            if isinstance(name, str) and is_private(name) and name not in own:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.ClassDef):
            yield from _overridden(module, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and PRIVATE_MODULE.fullmatch(node.value):
            yield node.lineno, node.value


def _is_getattr(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "getattr"


def _overridden(module: Module, node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Private names of a foreign base class to which a class gives another value."""
    mine = [child for child in node.body if isinstance(child, FunctionNode) and is_private(child.name)]
    for base in foreign_bases(module.name, node.name) if mine else ():
        yield from ((one.lineno, f"{node.name}.{one.name}") for one in mine if one.name in vars(base))


def is_private(name: str) -> bool:
    """Whether a name has one underscore in front."""
    return name.startswith("_") and not name.startswith("__") and name != "_"
