"""Input specs in words, as author and judge are shown them, and what is wrong with a value under them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut
from promptpex.core.records import INPUT_VARIABLE, WHOLE_INPUT, Prompt, Spec, VariableSpec

SHOWN = 60
"""Characters of a value that a message shows."""


def type_problems(name: str, value: Any, variable: VariableSpec) -> list[str]:
    """A sentence for each way in which ``value`` is not what the input spec allows for the variable ``name``."""
    problems = _type(value, variable) or [*_bounds(value, variable), *_schema(value, variable)]
    problems += _values(value, variable) + _lengths(value, variable)
    return [f"{name} {problem}" for problem in problems]


def _type(value: Any, variable: VariableSpec) -> list[str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "number": number,
        "integer": number and (isinstance(value, int) or value.is_integer()),
        "boolean": isinstance(value, bool),
        "json": not isinstance(value, str) or variable.schema_ is not None or _is_json(value),
    }.get(variable.type, True)
    if variable.type == "text" and not isinstance(value, str) and variable.values is None:
        return [f"is {_shown(value)}, and not a text"]
    return [] if fits else [f"is {_shown(value)}, and not of type {variable.type}"]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _values(value: Any, variable: VariableSpec) -> list[str]:
    if variable.values is None or any(_same(value, allowed) for allowed in variable.values):
        return []
    return [f"is {_shown(value)}, which is not one of the allowed values"]


def _same(value: Any, allowed: Any) -> bool:
    """Equality where 1 is not true, and a text may stand for the number that it writes."""
    if isinstance(value, bool) is not isinstance(allowed, bool):
        return str(allowed).lower() == value if isinstance(value, str) else False
    return bool(value == allowed) or (isinstance(value, str) and value == value_text(allowed))


def _bounds(value: Any, variable: VariableSpec) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    low, high = variable.minimum, variable.maximum
    problems = [f"is {_shown(value)}, less than {low:g}"] if low is not None and value < low else []
    return problems + ([f"is {_shown(value)}, more than {high:g}"] if high is not None and value > high else [])


def _lengths(value: Any, variable: VariableSpec) -> list[str]:
    if not isinstance(value, str):
        return []
    low, high, length = variable.min_length, variable.max_length, len(value)
    problems = [f"has {length} characters, fewer than {low}"] if low is not None and length < low else []
    return problems + ([f"has {length} characters, more than {high}"] if high is not None and length > high else [])


def _schema(value: Any, variable: VariableSpec) -> list[str]:
    """What breaks the schema; nothing where the schema itself cannot be used, which is for ``validate`` to say."""
    if not variable.schema_:
        return []
    from promptpex.assertions.kinds.json_schema import compiled_input
    from promptpex.assertions.model import Unscorable
    from promptpex.assertions.time_limits import TimedCheck

    try:
        with TimedCheck():
            problem = compiled_input(variable.schema_).problem(value)
    except Unscorable:
        return []
    return [f"is not as it should be: {problem}"] if problem else []


def unusable_schemas(inputs: Mapping[str, VariableSpec]) -> dict[str, str]:
    """For each variable whose schema cannot be used, what is wrong with it; unnoticed, it would accept everything."""
    from promptpex.assertions.kinds.json_schema import compiled_input
    from promptpex.assertions.model import Unscorable

    problems = {}
    for name, variable in inputs.items():
        try:
            compiled_input(variable.schema_ or {})
        except Unscorable as failure:
            problems[name] = f"the schema of {name!r} cannot be used, so no value is checked: {failure.message}"
    return problems


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return cut(text, SHOWN)


def input_spec_text(prompt: Prompt, spec: Spec) -> str:
    """The input spec as text: a paragraph a variable, then what holds of all together."""
    parts = []
    for name in (*prompt.variables, WHOLE_INPUT):
        lines = _lines(prompt, name, spec.inputs.get(name))
        if lines:
            title = {WHOLE_INPUT: "All together", INPUT_VARIABLE: "The input"}.get(name, name)
            parts.append("\n".join([f"{title}:", *(f"- {line}" for line in lines)]))
    return "\n\n".join(parts) or "(nothing is written down about the input)"


def typed_constraints(variable: VariableSpec) -> list[str]:
    """What a variable's type and bounds ask for, in words."""
    lines = []
    if variable.type == "enum" or variable.values:
        lines.append("One of: " + ", ".join(json.dumps(value, ensure_ascii=False) for value in variable.values or ()))
    elif variable.type != "text":
        lines.append("Written as JSON." if variable.type == "json" else f"A JSON {variable.type}.")
    if variable.schema_:
        lines.append(f"Valid under this JSON schema: {json.dumps(variable.schema_, ensure_ascii=False)}")
    bounds = (("At least", variable.minimum, ""), ("At most", variable.maximum, ""))
    lengths = (("At least", variable.min_length, " characters"), ("At most", variable.max_length, " characters"))
    lines += [f"{word} {bound}{unit}." for word, bound, unit in (*bounds, *lengths) if bound is not None]
    return lines


def _lines(prompt: Prompt, name: str, variable: VariableSpec | None) -> list[str]:
    description = prompt.description_of(name)
    described = [f"The prompt's owner describes it: {description}"] if description else []
    return described + ([*variable.constraints, *typed_constraints(variable)] if variable is not None else [])
