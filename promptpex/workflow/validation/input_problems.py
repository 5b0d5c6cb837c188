"""Cases whose inputs are not what the spec or the front matter allows, or are those of another case; such a case is run
all the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from promptpex.assertions import check_inputs
from promptpex.cases.input_type_problems import type_problems
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import named
from promptpex.core.errors import CheckError, PromptFileError
from promptpex.core.ids import canonical
from promptpex.core.records import Problem, Prompt, Spec, Suite, VariableSpec
from promptpex.documents.editable_file import Reading
from promptpex.specs.input_declarations import declared


def problems_of_inputs(
    path: Path, spec: Spec | None, prompt: Prompt | None, reading: Reading[Suite]
) -> Iterator[Problem]:
    """The cases that break an input check, or a type, a bound or a list of values of a variable."""
    allowed = _allowed(spec, prompt)
    for case in reading.record.cases:
        if case.invalid is not None:
            continue
        try:
            wrong = check_inputs(spec.input_checks, case.inputs) if spec is not None else []
        except CheckError as failure:
            yield Problem(path=str(path), message=failure.message)
            return
        for name, value in case.inputs.items():
            for variable in allowed.get(name, ()):
                wrong += [sentence for sentence in _outside(name, value, variable) if sentence not in wrong]
        for sentence in wrong:
            line, message = reading.lines.get(case.id), f"the case {case.id!r}: {sentence}"
            yield Problem.warning(path, line, message, "change the input, or what is allowed")


def equal_inputs(path: Path, reading: Reading[Suite]) -> Iterator[Problem]:
    """A hint for each set of cases whose inputs are the same, at the second of them.

    They look like several and are one: a model is asked once, and its answer counts for each. Cases that aim at
    different rules are named too.
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for case in reading.record.cases:
        if case.invalid is None:
            alike[canonical(dict(case.inputs))].append(case.id)
    for ids in alike.values():
        if len(ids) > 1:
            message = f"the cases {named(ids)} have the same inputs: they are asked once and count {len(ids)} times"
            yield Problem.info(path, reading.lines.get(ids[1]), message, "change the inputs, or keep one of them")


def _allowed(spec: Spec | None, prompt: Prompt | None) -> dict[str, list[VariableSpec]]:
    """What spec and front matter say of each variable."""
    allowed = {name: [variable] for name, variable in (spec.inputs.items() if spec is not None else ())}
    if prompt is None:
        return allowed
    for name in prompt.variables:
        with suppress(PromptFileError):  # said of the front matter already
            allowed.setdefault(name, []).append(declared(prompt, name))
    return allowed


def _outside(name: str, value: Any, variable: VariableSpec) -> list[str]:
    """What is wrong with a value. Text is what a variable holds of which nothing is said: any value will do for it, and
    a number or a truth value counts as the text that it writes."""
    if variable.type != "text" or isinstance(value, str):
        return type_problems(name, value, variable)
    return type_problems(name, value_text(value), variable) if isinstance(value, bool | int | float) else []
