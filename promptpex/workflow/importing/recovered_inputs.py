"""Recorded requests with the prompt that they come from: their inputs, recovered from what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from promptpex import promptfile
from promptpex.core.errors import InputError
from promptpex.core.records import INPUT_VARIABLE, Prompt, Spec
from promptpex.core.translation import stored
from promptpex.interchange.format import Imported, ImportedPrompt
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.exchanges import Exchange
from promptpex.interchange.reading.inferred_project import gathered
from promptpex.promptfile.recover import NotThisPrompt, recoverer
from promptpex.specs.file import read_spec
from promptpex.workflow.project_files import files_of


def with_prompt(imported: Imported, path: Path) -> Imported:
    """The requests of an import as cases and outputs of the prompt ``path``, with the spec beside it.

    What does not come from the prompt is left out and noted.

    Raises:
        InputError: the file records no requests, none of them comes from the prompt, or the prompt's template does more
            than to put variables into a text.
    """
    recorded = imported.recorded
    if recorded is None:
        raise InputError("--prompt goes with files that record what models were sent; this one does not", path=path)
    prompt = promptfile.read(path)
    log = Log()
    pairs: list[tuple[Exchange, Mapping[str, object]]] = []
    has_chats = any(each.messages for each in recorded.exchanges)
    recovered = recoverer(prompt) if has_chats else None
    for each in recorded.exchanges:
        try:
            inputs = (
                recovered(each.messages) if each.messages and recovered is not None else _named(each.inputs, prompt)
            )
            pairs.append((each, {**each.inputs, **inputs}))
        except NotThisPrompt as failure:
            log.left_out(each.at.name, failure.why, each.at.path, each.at.line)
    if not pairs:
        raise InputError(
            f"no request of the file comes from this prompt; the first reason: {log.notes[0].why}", path=path
        )
    project = gathered(pairs, log)
    return replace(
        project,
        prompt=ImportedPrompt(prompt.name, prompt.messages, prompt.description, front=_front(prompt)),
        spec=_spec(path) or imported.spec,
        settings=imported.settings,
        over=dict(log.over),
        notes=(*recorded.notes, *log.notes),
    )


def _named(inputs: Mapping[str, object], prompt: Prompt) -> Mapping[str, object]:
    """Inputs that the file has by name; a prompt with one variable takes ``input`` for it."""
    required_inputs = promptfile.required(prompt)
    if len(required_inputs) == 1 and required_inputs[0] not in inputs and INPUT_VARIABLE in inputs:
        return {required_inputs[0]: inputs[INPUT_VARIABLE]}
    lacking = [name for name in required_inputs if name not in inputs]
    if lacking:
        raise NotThisPrompt(stored("it has no value for {name}", name=lacking[0]))
    return {}


def _front(prompt: Prompt) -> dict[str, object]:
    """What the front matter says of the inputs, so that defaults hold."""
    inputs = prompt.meta.get("inputs")
    return {"inputs": dict(inputs)} if isinstance(inputs, Mapping) and inputs else {}


def _spec(prompt: Path) -> Spec | None:
    """The spec beside the prompt, if there is one."""
    spec = files_of(prompt).spec
    return read_spec(spec) if spec.exists() else None
