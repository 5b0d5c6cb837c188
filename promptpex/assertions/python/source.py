"""The forms in which Python checks are written, and the function that each comes to.

promptfoo's: an expression over ``output`` and ``context``, a body that returns, ``def get_assert(output, context)``.
SPADE's (arXiv 2401.03038, section 3.2): ``def name(example, prompt, response) -> bool``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from promptpex.assertions.model import Unscorable
from promptpex.codecs.wording import did_you_mean

MAX_CODE = 100_000
"""Characters of code."""

Parameter = Literal["output", "context", "example", "prompt", "response", "vars"]
"""What a function can be given, by the name of its parameter."""

_BY_COUNT: dict[int, tuple[Parameter, ...]] = {
    1: ("output",),
    2: ("output", "context"),
    3: ("example", "prompt", "response"),
}
_KNOWN = frozenset(("output", "context", "example", "prompt", "response", "vars"))
_OURS = "_check"
"""The function that is made of an expression or a body."""


@dataclass(frozen=True, slots=True)
class CheckProgram:
    """A check's code, ready to run.

    Attributes:
        code: defines the function.
        name: the function's name.
        parameters: what it is given, in order.
        awaited: whether it is ``async``.
        asks: whether it calls ``ask`` or ``ask_llm``, as far as the text shows.
        by_truth: whether any value is a verdict, by its truth, as for SPADE's functions; else promptfoo's rules hold.
    """

    code: str
    name: str
    parameters: tuple[Parameter, ...]
    awaited: bool
    asks: bool
    by_truth: bool


@dataclass(frozen=True, slots=True)
class Definition:
    """A function at the top of a text: its name, its parameters without defaults, and whether it is ``async``."""

    name: str
    parameters: tuple[str, ...]
    awaited: bool


def program_of(text: str, function: object = None) -> CheckProgram:
    """The program of a check's value.

    Args:
        text: the code in one of its forms.
        function: the name of the function that counts, where there are several; None: ``get_assert`` if there is one,
            else the last.

    Raises:
        Unscorable: ``bad-value``: it is too long, or there is no such function.
    """
    if len(text) > MAX_CODE:
        raise Unscorable("bad-value", f"the code has {len(text):,} characters; at most {MAX_CODE:,} are run")
    code = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()
    bare = without_literals(code)
    asks = _ASKS.search(bare) is not None
    defined = tuple(definitions(code))
    if not defined:
        if function is not None:
            raise Unscorable("bad-value", f"there is no function {str(function)[:40]!r} in the code")
        awaited = _AWAITS.search(bare) is not None
        return CheckProgram(
            _as_function(code, bare, awaited), _OURS, ("output", "context"), awaited, asks, by_truth=False
        )
    chosen = _chosen(defined, function)
    parameters = _parameters(chosen)
    return CheckProgram(code, chosen.name, parameters, chosen.awaited, asks, by_truth="response" in parameters)


def is_function(text: str) -> bool:
    """Whether the text defines a function, so that braces in it are Python's and not a template's."""
    return _DEFINITION.search(without_literals(text)) is not None


def count_asking(text: str) -> int:
    """How many calls of ``ask`` and ``ask_llm`` the text has."""
    return len(_ASKING_CALL.findall(without_literals(text)))


def definitions(code: str) -> Iterator[Definition]:
    """The functions that are defined at the top of the code, in order."""
    bare = without_literals(code)
    for match in _DEFINITION.finditer(bare):
        parameters = tuple(_named_parameters(_inside_parentheses(bare, match.end())))
        yield Definition(match["name"], parameters, match["async"] is not None)


def _chosen(defined: tuple[Definition, ...], function: object) -> Definition:
    by_name = {each.name: each for each in defined}
    if function is None:
        return by_name.get("get_assert", defined[-1])
    if not isinstance(function, str) or function not in by_name:
        hint = did_you_mean(str(function)[:100], tuple(by_name)) or f"it defines {', '.join(list(by_name)[:10])}"
        raise Unscorable("bad-value", f"there is no function {str(function)[:40]!r} in the code; {hint}")
    return by_name[function]


def _parameters(chosen: Definition) -> tuple[Parameter, ...]:
    names = chosen.parameters
    if names and all(name in _KNOWN for name in names) and len(set(names)) == len(names):
        return tuple(name for name in names)  # type: ignore[misc]
    if len(names) not in _BY_COUNT:
        message = "takes (output, context) or (example, prompt, response)"
        raise Unscorable("bad-value", f"the function {chosen.name} has {len(names)} parameters; a check's {message}")
    return _BY_COUNT[len(names)]


_DEFINITION = re.compile(r"^(?P<async>async[ \t]+)?def[ \t]+(?P<name>\w+)[ \t]*(?:\[[^\]\n]*\][ \t]*)?\(", re.MULTILINE)
_ASKS = re.compile(r"\bask(?:_llm)?\b")
_ASKING_CALL = re.compile(r"\bask(?:_llm)?[ \t]*\(")
_AWAITS = re.compile(r"\bawait\b")
_BODY = re.compile(r"(?:return|import|from|if|for|while|try|with|assert|raise|global|match|pass)\b")
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


def _as_function(code: str, bare: str, awaited: bool) -> str:
    """An expression, or a body that returns, as a function of ``output`` and ``context``."""
    head = f"import json\n{'async ' if awaited else ''}def {_OURS}(output, context):\n"
    if "\n" not in code and not _BODY.match(code):
        return f"{head}    return (\n{code}\n)\n"
    return head + _indented(code)


def _indented(code: str) -> str:
    """The lines a level further in, but for those that begin inside of a literal."""
    within: set[int] = set()
    for literal in _LITERALS.finditer(code):
        start = code.count("\n", 0, literal.start())
        within.update(range(start + 1, start + 1 + literal[0].count("\n")))
    lines = code.split("\n")
    return "\n".join(line if number in within else f"    {line}" for number, line in enumerate(lines)) + "\n"


def _inside_parentheses(bare: str, start: int) -> str:
    """What stands between a parenthesis, which ends at ``start``, and the one that closes it."""
    depth = 1
    for at in range(start, len(bare)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(bare[at], 0)
        if depth == 0:
            return bare[start:at]
    return bare[start:]


def _named_parameters(inside: str) -> Iterator[str]:
    """The names of the parameters that have to be given by position."""
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
