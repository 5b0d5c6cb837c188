"""What docstrings list is there: the attributes of classes, the arguments of functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "promptpex"
FILES = sorted(PACKAGE.rglob("*.py"))
HEADS = ("Args:", "Attributes:", "Raises:", "Returns:", "Yields:")
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


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


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
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        docstring = ast.get_docstring(cls) or ""
        if not any(isinstance(base, ast.Name) and base.id != "Record" for base in cls.bases):
            yield from (
                f"{cls.name}: no attribute {name}" for name in listed(docstring, "Attributes:") - attributes(cls)
            )
        made = [arguments(function) for function in functions(cls) if function.name == "__init__"]
        for name in listed(docstring, "Args:") - (made[0] if made else attributes(cls)):
            yield f"{cls.name}: no argument {name}"


def test_what_a_docstring_lists_is_there() -> None:
    trees = {file.relative_to(PACKAGE): ast.parse(file.read_text(encoding="utf-8")) for file in FILES}
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
