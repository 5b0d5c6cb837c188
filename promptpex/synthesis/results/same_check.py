"""Whether two checks are the same code: what they are once names, comments and layout are taken away."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence

from promptpex.core.ids import digest
from promptpex.core.records import Candidate, Check

LONGEST = 50_000
"""Characters of Python that are parsed; longer code is compared as text."""

_IN_ANY_ORDER = ("contains-all", "contains-any", "icontains-all", "icontains-any", "word-any", "word-all")
NOT_DECIDING = ("weight", "metric")
"""Keys of a check that its own verdict does not depend on."""


def normal_form(check: Check) -> str:
    """A digest that checks share if they are the same code.

    Of Python the syntax tree without the function's name and docstring; of a question its words; of the other kinds
    their keys, lists in which order does not matter sorted.
    """
    return digest(_plain(check), 32)


def _plain(check: Check) -> dict[str, object]:
    data = {name: value for name, value in check.to_dict().items() if name not in NOT_DECIDING}
    if check.asserts is not None:
        data["assert"] = [_plain(part) for part in check.asserts]
        return data
    base = check.kind.removeprefix("not-")
    if base == "python" and isinstance(check.value, str):
        data["value"] = python_tree(check.value)
    elif base == "question" and isinstance(check.value, str):
        data["value"] = " ".join(check.value.split())
    elif base in _IN_ANY_ORDER and isinstance(check.value, list) and all(isinstance(one, str) for one in check.value):
        data["value"] = sorted(set(check.value))
    return data


def python_tree(code: str) -> str:
    """The syntax tree of code as text, its only function without name and docstring; the code itself where it cannot be
    parsed. Nothing of it runs."""
    if len(code) > LONGEST:
        return code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code.strip())
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        if len(functions) == 1:
            functions[0].name = "check"
            functions[0].body = _without_docstring(functions[0].body)
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code.strip()


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body


def same_code(candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """The pairs of candidates, by their ids and in both directions, that are the same code."""
    groups: dict[str, list[str]] = {}
    for candidate in candidates:
        groups.setdefault(normal_form(candidate.check), []).append(candidate.id)
    return [(one, other) for group in groups.values() for one in group for other in group if one != other]
