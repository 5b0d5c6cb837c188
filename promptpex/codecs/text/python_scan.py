"""Python as text: where its literals are, and which functions stand at its top. Nothing is parsed, and nothing runs.

It is done by patterns, in time in proportion to the text: what a stranger or a model wrote may be any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args


@dataclass(frozen=True, slots=True)
class Definition:
    """A function at the top of a text: its name, where its parameters begin, and whether it is ``async``."""

    name: str
    start: int
    awaited: bool


def literals(code: str) -> Iterator[re.Match[str]]:
    return _LITERALS.finditer(code)


def definitions(code: str) -> Iterator[Definition]:
    for match in _DEFINITION.finditer(without_literals(code)):
        yield Definition(match["name"], match.end(), match["async"] is not None)


def parameters_of(code: str, definition: Definition) -> tuple[str, ...]:
    """The names of a function's parameters that have to be given by position."""
    return tuple(_named_parameters(_inside_parentheses(without_literals(code), definition.start)))


Given = Literal["output", "context", "example", "prompt", "response", "vars"]
"""What the function of a check can be given, by the name of its parameter."""

_BY_COUNT: dict[int, tuple[Given, ...]] = {
    1: ("output",),
    2: ("output", "context"),
    3: ("example", "prompt", "response"),
}


def given_to(parameters: Sequence[str]) -> tuple[Given, ...] | None:
    """What the function of a check is given, by the names of its parameters or else by how many there are; None where
    no function of a check has so many."""
    given_names = get_args(Given)
    if parameters and all(name in given_names for name in parameters) and len(set(parameters)) == len(parameters):
        return tuple(name for name in parameters)  # type: ignore[misc]
    return _BY_COUNT.get(len(parameters))


def count_asking(code: str) -> int:
    """How many calls the code has of ``ask`` and ``ask_llm``, by which a check puts a question to a judge."""
    return len(_ASKING_CALL.findall(without_literals(code)))


_ASKING_CALL = re.compile(r"\bask(?:_llm)?[ \t]*\(")
_DEFINITION = re.compile(r"^(?P<async>async[ \t]+)?def[ \t]+(?P<name>\w+)[ \t]*(?:\[[^\]\n]*\][ \t]*)?\(", re.MULTILINE)
_LITERALS = re.compile(
    r"""
    \#[^\n]*
    | \"\"\"(?:[^"\\]|\\.|"(?!""))*(?:\"\"\")?
    | '''(?:[^'\\]|\\.|'(?!''))*(?:''')?
    | "(?:[^"\\\n]|\\.)*"?
    | '(?:[^'\\\n]|\\.)*'?
    """,
    re.VERBOSE | re.DOTALL,
)


def without_literals(code: str) -> str:
    """The code with comments and what stands in quotes blanked, each character by one; line ends stay."""
    return _LITERALS.sub(lambda literal: _NOT_A_LINE_END.sub(" ", literal[0]), code)


_NOT_A_LINE_END = re.compile(r"[^\n]")


def _inside_parentheses(bare: str, start: int) -> str:
    """What stands between a parenthesis, which ends at ``start``, and the one that closes it."""
    depth = 1
    for at in range(start, len(bare)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(bare[at], 0)
        if depth == 0:
            return bare[start:at]
    return bare[start:]


def _named_parameters(inside: str) -> Iterator[str]:
    for part in _split_at_commas(inside):
        name = re.match(r"\s*(\w+)\s*(?::[^=]*)?$", part)
        if part.strip().startswith("*"):
            return
        if name:
            yield name[1]


def _split_at_commas(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, mark in enumerate(text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(mark, 0)
        if mark == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
