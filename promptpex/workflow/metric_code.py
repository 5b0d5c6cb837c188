"""The code of a metric: whether it is JavaScript, and in which form a check takes it."""

from __future__ import annotations

from promptpex.assertions import check
from promptpex.assertions.kinds.javascript import function_body

KIND = "javascript"
"""The kind of check that evaluates the code; the source of its scores."""


def runnable(code: str) -> str:
    """The code as the value of a check, which takes one line as an expression: a line that is none, but a body with
    ``return``, is made one of two lines."""
    return as_body(code) if _fault(function_body(code)) and not _fault(as_body(code)) else code


def code_problem(code: str) -> str | None:
    """Why the code is no JavaScript, neither as an expression nor as a body, in a clause; None where it is. What it
    would do is not tried."""
    fault = _fault(function_body(code))
    other = _fault(as_body(code)) if fault else None
    if fault is None or other is None:
        return None
    return f"the code is no JavaScript: {other if 'return' in code else fault}"


def as_body(code: str) -> str:
    """The code as a function's body, whatever it is."""
    return f"\n{code}"


def _fault(body: str) -> str | None:
    """Why a function with this body does not parse; its first line ends it before the rest could."""
    result = check("", [{"kind": KIND, "value": f"return true;\n{body}"}]).results[0]
    return result.reason if result.unscored == "script-error" else None
