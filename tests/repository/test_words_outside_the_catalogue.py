"""Notices and what models' errors say come from the catalogue: their words stand in ``stored``, not in a bare text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.core import errors
from promptpex.core.errors import ModelError

PACKAGE = Path(__file__).parents[2] / "promptpex"
MODEL_ERRORS = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ModelError)
} | {"ReplyError", "NotGguf"}
TEXTS = frozenset(("tr", "tr_n", "stored", "stored_n", "Key", "from_data"))
"""Calls whose words are of the catalogue."""
ENGLISH = ("llm/fake.py",)
"""Tests' own client."""
WORD = re.compile(r"[^\W\d_]{2,} [^\W\d_]{2,}|[^\W\d_]{2,}: ")


def bare_words(node: ast.AST) -> Iterator[str]:
    """The words in a text that no call takes from the catalogue."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in TEXTS:
            return
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and WORD.search(node.value):
        yield node.value
    elif isinstance(node, ast.FormattedValue):
        return
    for child in ast.iter_child_nodes(node):
        yield from bare_words(child)


def printed(source: str, callers: set[str]) -> Iterator[tuple[int, str]]:
    """Bare words in what these calls are given first, also where it was put together before in the same function."""
    for scope in ast.walk(ast.parse(source)):
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        assigned: dict[str, list[ast.AST]] = {}
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign | ast.AugAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        assigned.setdefault(target.id, []).append(node.value)
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and name_of(node.func) in callers and node.args:
                first = node.args[0]
                given = assigned.get(first.id, []) if isinstance(first, ast.Name) else [first]
                yield from ((node.lineno, words) for one in given for words in bare_words(one))


def name_of(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else ""


@pytest.mark.parametrize("callers", [{"Notice"}, MODEL_ERRORS], ids=["notices", "errors of models"])
def test_words_are_of_the_catalogue(callers: set[str]) -> None:
    calls = re.compile(rf"\b(?:{'|'.join(callers)})\(")
    bare = [
        f"{name}:{line}: {words}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if not (name := file.relative_to(PACKAGE).as_posix()).startswith(ENGLISH)
        and calls.search(source := file.read_text(encoding="utf-8"))
        for line, words in printed(source, callers)
    ]
    assert not bare


def test_bare_words_are_found() -> None:
    code = 'def f():\n    a = f"no reply of {x}"\n    emit(Notice(a))\n    emit(Notice(stored("{x} is told", x=1)))\n'
    assert list(printed(f'{code}    emit(Notice(f"{{x}} has nothing"))\n', {"Notice"})) == [
        (3, "no reply of "),
        (5, " has nothing"),
    ]
