"""The code of a metric: whether it is JavaScript or Python, and in which form a check takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from promptpex.assertions import (
    CheckResult,
    Compiled,
    check,
    checked_output,
    compile_checks,
    evaluate,
    prepare,
    questions_of,
)
from promptpex.assertions.kinds.javascript import function_body
from promptpex.core.errors import CheckError
from promptpex.core.records import Check, Language


@dataclass(frozen=True, slots=True)
class MetricCode:
    """A metric's code, compiled once for all outputs.

    Attributes:
        check: the code as a check, which scripts may see.
        compiled: the check made ready.
    """

    check: Mapping[str, object]
    compiled: Compiled

    def result(self, output: str | None, variables: Mapping[str, object], prompt: str = "") -> CheckResult:
        """What the code gives for an output; unscored where it fails, or has had the time of a check on all outputs."""
        checked = checked_output(output, variables, asserts=[self.check], prompt=prompt or None)
        return evaluate(self.compiled, checked).results[0]


def compiled(code: str, language: Language = "javascript") -> MetricCode:
    """The code made ready for outputs; code that cannot be used gives unscored results."""
    check = {"kind": language, "value": runnable(code) if language == "javascript" else code}
    return MetricCode(check, prepare([check]))


def runnable(code: str) -> str:
    """The code as the value of a check, which takes one line as an expression: a line that is not one, but a body with
    ``return``, is made one of two lines."""
    return as_body(code) if _fault(function_body(code)) and not _fault(as_body(code)) else code


def code_problem(code: str, language: Language = "javascript") -> str | None:
    """Why the code is not JavaScript, neither as an expression nor as a body, or not Python, in a clause; None where it
    is. What it would do is not tried."""
    if language == "python":
        return _python_problem(code)
    fault = _fault(function_body(code))
    other = _fault(as_body(code)) if fault else None
    if fault is None or other is None:
        return None
    return f"the code is not JavaScript: {other if 'return' in code else fault}"


def _python_problem(code: str) -> str | None:
    if questions_of([Check(kind="python", value=code)]):
        return "a metric's code cannot ask a judge; write criteria (.metric.md) instead"
    try:
        compile_checks([{"kind": "python", "value": code}])
    except CheckError as error:
        return error.message
    return None


def as_body(code: str) -> str:
    """The code as a function's body, whatever it is."""
    return f"\n{code}"


def _fault(body: str) -> str | None:
    """Why a function with this body does not parse; its first line ends it before the rest could."""
    result = check("", [{"kind": "javascript", "value": f"return true;\n{body}"}]).results[0]
    return result.reason if result.unscored == "script-error" else None
