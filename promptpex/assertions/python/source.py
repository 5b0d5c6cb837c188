"""The forms in which Python checks are written, and the function that each comes to.

promptfoo's: an expression over ``output`` and ``context``, a body that returns, ``def get_assert(output, context)``.
SPADE's (arXiv 2401.03038, section 3.2): ``def name(example, prompt, response) -> bool``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from promptpex.assertions.model import Unscorable
from promptpex.codecs.text.python_scan import (
    Definition,
    Given,
    definitions,
    given_to,
    literals,
    parameters_of,
    without_literals,
)
from promptpex.codecs.text.wording import did_you_mean, plural

MAX_CODE = 100_000
"""Characters of code."""

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
    parameters: tuple[Given, ...]
    awaited: bool
    asks: bool
    by_truth: bool


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
    defined = () if _RETURNS.search(bare) else tuple(definitions(code))
    if not defined:
        if function is not None:
            raise Unscorable("bad-value", f"there is no function {str(function)[:40]!r} in the code")
        awaited = _AWAITS.search(bare) is not None
        return CheckProgram(
            _as_function(code, bare, awaited), _OURS, ("output", "context"), awaited, asks, by_truth=False
        )
    chosen = _chosen(defined, function)
    parameters = _parameters(code, chosen)
    return CheckProgram(code, chosen.name, parameters, chosen.awaited, asks, by_truth="response" in parameters)


def is_function(text: str) -> bool:
    """Whether the text defines a function, so that braces in it are Python's and not a template's."""
    return next(definitions(text), None) is not None and not _RETURNS.search(without_literals(text))


def _chosen(defined: tuple[Definition, ...], function: object) -> Definition:
    by_name = {each.name: each for each in defined}
    if function is None:
        return by_name.get("get_assert", defined[-1])
    if not isinstance(function, str) or function not in by_name:
        hint = did_you_mean(str(function)[:100], tuple(by_name)) or f"it defines {', '.join(list(by_name)[:10])}"
        raise Unscorable("bad-value", f"there is no function {str(function)[:40]!r} in the code; {hint}")
    return by_name[function]


def _parameters(code: str, chosen: Definition) -> tuple[Given, ...]:
    names = parameters_of(code, chosen)
    parameters = given_to(names)
    if parameters is None:
        message = "write (output, context) or (example, prompt, response)"
        raise Unscorable("bad-value", f"the function {chosen.name} has {plural(len(names), 'parameter')}; {message}")
    return parameters


_ASKS = re.compile(r"\bask(?:_llm)?\b")
_RETURNS = re.compile(r"^return\b", re.MULTILINE)
"""At the top: what else is defined there helps a body that returns."""
_AWAITS = re.compile(r"\bawait\b")
_BODY = re.compile(r"(?:return|import|from|if|for|while|try|with|assert|raise|global|match|pass)\b")


def _as_function(code: str, bare: str, awaited: bool) -> str:
    """An expression, or a body that returns, as a function of ``output`` and ``context``."""
    head = f"import json\n{'async ' if awaited else ''}def {_OURS}(output, context):\n"
    if "\n" not in code and not _BODY.match(code):
        return f"{head}    return (\n{code}\n)\n"
    return head + _indented(code)


def _indented(code: str) -> str:
    """The lines a level further in, but for those that begin inside of a literal."""
    within: set[int] = set()
    number = end = 0
    for literal in literals(code):
        number += code.count("\n", end, literal.start())
        inside = literal[0].count("\n")
        within.update(range(number + 1, number + 1 + inside))
        number, end = number + inside, literal.end()
    lines = code.split("\n")
    return "\n".join(line if number in within else f"    {line}" for number, line in enumerate(lines)) + "\n"
