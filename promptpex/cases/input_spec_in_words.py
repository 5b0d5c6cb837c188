"""The input spec in words, as an author and a judge are shown it: descriptions, constraints, types and bounds."""

from __future__ import annotations

import json

from promptpex.core.records import INPUT_VARIABLE, WHOLE_INPUT, Prompt, Spec, VariableSpec


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
