"""Public names have docstrings unless they are short, and what these list is there: attributes and arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "promptpex"
FILES = sorted(PACKAGE.rglob("*.py"))
HEADS = ("Args:", "Attributes:", "Raises:", "Returns:", "Yields:")
SHORT = 5
"""Lines of code that a name and types explain."""
NAMES = re.compile(r"\*{0,2}(\w+(?:, \*{0,2}\w+)*): ")
"""One entry, such as ``rpm, tpm: most requests``; also further ones in a line, behind a full stop."""


def listed(docstring: str, head: str) -> set[str]:
    """The names in the section of a docstring that begins with ``head``."""
    lines = docstring.splitlines()
    if head not in lines:
        return set()
    listed: set[str] = set()
    for line in lines[lines.index(head) + 1 :]:
        if line in HEADS or (line and not line.startswith(" ")):
            break
        if line.startswith("    ") and not line.startswith("     ") and (entry := NAMES.match(line.strip())):
            listed.update(name.strip("* ") for name in entry[1].split(","))
    return listed


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a module, class or function, however deep; no expression holds a definition."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from statements(child)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in statements(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {one.arg for one in named if one is not None}


def attributes(cls: ast.ClassDef) -> set[str]:
    """Fields, properties, and what ``self.NAME`` is set to."""
    fields = {
        node.target.id for node in cls.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    plain = {
        target.id
        for node in cls.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    made = {node.attr for node in ast.walk(cls) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    return fields | plain | made | {function.name for function in functions(cls)}


def drifted(tree: ast.Module) -> Iterator[str]:
    for function in functions(tree):
        lost = listed(ast.get_docstring(function) or "", "Args:") - arguments(function)
        yield from (f"{function.name}: no argument {name}" for name in lost)
    for cls in (node for node in statements(tree) if isinstance(node, ast.ClassDef)):
        docstring = ast.get_docstring(cls) or ""
        if not any(isinstance(base, ast.Name) and base.id != "Record" for base in cls.bases):
            named = listed(docstring, "Attributes:")
            yield from (f"{cls.name}: no attribute {name}" for name in (named - attributes(cls) if named else ()))
        if not (taken := listed(docstring, "Args:")):
            continue
        made = [arguments(function) for function in functions(cls) if function.name == "__init__"]
        for name in taken - (made[0] if made else attributes(cls)):
            yield f"{cls.name}: no argument {name}"


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """The syntax of all files of the package, by their paths."""
    return {file.relative_to(PACKAGE.parent).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in FILES}


def undocumented(where: str, tree: ast.Module) -> Iterator[str]:
    if tree.body and not ast.get_docstring(tree):
        yield where
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and wants_docstring(node):
            yield f"{where}:{node.lineno} {node.name}"


def wants_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    overload = any(ast.unparse(decorator).endswith("overload") for decorator in node.decorator_list)
    short = (node.end_lineno or 0) - node.body[0].lineno < SHORT
    return not node.name.startswith("_") and not overload and not short and not ast.get_docstring(node)


def test_public_names_that_are_not_short_have_docstrings(trees: dict[str, ast.Module]) -> None:
    bare = [name for where, tree in trees.items() for name in undocumented(where, tree)]
    assert not bare, "\n".join(bare)


def test_what_a_docstring_lists_is_there(trees: dict[str, ast.Module]) -> None:
    assert len(trees) > 200
    assert [f"{file}: {gone}" for file, tree in trees.items() for gone in drifted(tree)] == []


def test_the_probe_sees_what_is_gone() -> None:
    gone = '''
class Check:
    """A check.

    Attributes:
        kind: which.
        language, provider: gone.
    """

    kind: str

def check(one: int) -> None:
    """Checks.

    Args:
        one: there.
        two: gone.

    Raises:
        KeyError: it is not an argument.
    """
'''
    assert sorted(drifted(ast.parse(gone))) == [
        "Check: no attribute language", "Check: no attribute provider", "check: no argument two",
    ]  # fmt: skip
