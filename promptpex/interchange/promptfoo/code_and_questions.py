"""Python and questions as promptfoo's assertions ``python`` and ``llm-rubric``.

promptfoo makes a function of the lines in ``value``, with ``output`` and ``context``, and wants them to return; its
rubrics are statements that a grader holds against the output.
"""

from __future__ import annotations

from promptpex.codecs.text.inputs_as_text import raw
from promptpex.codecs.text.python_scan import Given, count_asking, definitions, given_to, parameters_of
from promptpex.core.judge_questions import RUBRIC_NO, RUBRIC_YES
from promptpex.core.records import Check

_GIVEN: dict[Given, str] = {
    "output": "output",
    "context": "context",
    "example": "context['vars']",
    "vars": "context['vars']",
    "prompt": "context['prompt']",
    "response": "output if isinstance(output, str) else json.dumps(output)",
}


def python_problem(check: Check) -> str | None:
    """Why promptfoo cannot run this code, if it cannot."""
    if not isinstance(check.value, str):
        return "its value is not a text"
    if count_asking(check.value):
        return "promptfoo's Python has no judge to ask"
    return None


def as_body(check: Check) -> Check:
    """The code as a body that returns; what defines a function calls it. Braces that are Python's are kept so."""
    code = str(check.value).rstrip()
    defined = {each.name: each for each in definitions(code)}
    if not defined:
        return check
    config = check.config if isinstance(check.config, dict) else {}
    chosen = defined.get(str(config.get("function", "get_assert")), list(defined.values())[-1])
    arguments = given_to(parameters_of(code, chosen)) or ()
    call = f"{chosen.name}({', '.join(_GIVEN[name] for name in arguments)})"
    call = f"asyncio.run({call})" if chosen.awaited else call
    returned = f"bool({call})" if "response" in arguments else call
    head = "import asyncio\n" if chosen.awaited else ""
    return check.replace(value=raw(f"{head}{code}\nreturn {returned}"))


def as_rubric(check: Check) -> Check:
    """The question as a statement for a grader; it says itself whether yes or no is wanted."""
    rubric_form = RUBRIC_NO if check.kind.startswith("not-") else RUBRIC_YES
    return check.replace(kind="llm-rubric", value=f"{rubric_form}{check.value}")
