"""Recorded requests with the prompt that they come from: their inputs, told from what was sent.

The prompt's template is held against the messages; inputs are recovered where it fits in one way only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from jinja2 import nodes

from promptpex import promptfile
from promptpex.core.errors import InputError, PromptFileError
from promptpex.core.records import INPUT_VARIABLE, Message, Prompt, Spec
from promptpex.core.translation import stored
from promptpex.interchange.format import Imported, ImportedPrompt
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.exchanges import Exchange
from promptpex.interchange.reading.inferred_project import gathered
from promptpex.promptfile.render import parsed_template
from promptpex.specs.file import read_spec
from promptpex.workflow.project_files import files_of


class NotThisPrompt(Exception):
    """What was sent does not come from the prompt, or cannot be taken apart, with the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Gap:
    """A place of a template where a variable's value stands."""

    name: str


def recoverer(prompt: Prompt) -> Callable[[Sequence[Message]], Mapping[str, str]]:
    """A function that tells a prompt's inputs from the messages that were sent; it takes time in proportion to their
    length, and raises ``NotThisPrompt`` where they do not come from the prompt, or may come from several inputs."""
    turns = [(message.role, _pieces(message.content, prompt)) for message in prompt.messages]
    if prompt.implicit_input:
        turns.append(("user", (Gap(INPUT_VARIABLE),)))

    def recovered(messages: Sequence[Message]) -> Mapping[str, str]:
        if [message.role for message in messages] != [role for role, _ in turns]:
            roles = ", ".join(role for role, _ in turns)
            raise NotThisPrompt(stored("the prompt has other turns: {roles}", roles=roles))
        values: dict[str, str] = {}
        for (_, pieces), message in zip(turns, messages, strict=True):
            for name, value in _taken_apart(pieces, message.content):
                if values.setdefault(name, value) != value:
                    raise NotThisPrompt(stored("it would need two values of {name}", name=name))
        return values

    return recovered


def _pieces(source: str, prompt: Prompt) -> tuple[str | Gap, ...]:
    """A template as texts and gaps, texts that stand next to each other joined."""
    pieces: list[str | Gap] = []
    for part in parsed_template(source).body:
        if not isinstance(part, nodes.Output):
            raise _too_much(prompt)
        for node in part.nodes:
            if isinstance(node, nodes.Name):
                pieces.append(Gap(node.name))
                continue
            text = node.data if isinstance(node, nodes.TemplateData) else getattr(node, "value", None)
            if not isinstance(text, str):
                raise _too_much(prompt)
            if pieces and isinstance(pieces[-1], str):
                pieces[-1] += text
            else:
                pieces.append(text)
    return tuple(pieces)


def _too_much(prompt: Prompt) -> PromptFileError:
    return PromptFileError(
        "inputs cannot be told from what was sent where the template has tags or filters, as this one; it may only "
        "put variables into its text",
        path=prompt.path or prompt.name,
    )


def _taken_apart(pieces: Sequence[str | Gap], text: str) -> list[tuple[str, str]]:
    """The value of each gap, in order.

    The texts between the gaps are looked for from the left and from the right. Where a text fits at all, both searches
    find places; where they find the same ones, there is no other way to take it apart.
    """
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        if text.strip() != "".join(texts).strip():
            raise NotThisPrompt(_OTHER)
        return []
    begin, end = _edges(pieces, text)
    inner = list(pieces[1:] if isinstance(pieces[0], str) else pieces)
    inner = inner[:-1] if isinstance(inner[-1], str) else inner
    if any(isinstance(one, Gap) and isinstance(two, Gap) for one, two in pairwise(inner)):
        raise NotThisPrompt(_SEVERAL)
    stands = _places([piece for piece in inner if isinstance(piece, str)], text, begin, end)
    names = [piece.name for piece in inner if isinstance(piece, Gap)]
    starts = [begin, *(stop for _, stop in stands)]
    stops = [*(start for start, _ in stands), end]
    return [(name, text[start:stop]) for name, start, stop in zip(names, starts, stops, strict=True)]


def _edges(pieces: Sequence[str | Gap], text: str) -> tuple[int, int]:
    """Where what varies begins and ends: behind the first text of the template, and before its last one."""
    first = pieces[0] if isinstance(pieces[0], str) else ""
    last = pieces[-1] if isinstance(pieces[-1], str) else ""
    for one, two in ((first, last), (first.lstrip(), last.rstrip())):
        if text.startswith(one) and text.endswith(two) and len(one) + len(two) <= len(text):
            return len(one), len(text) - len(two)
    raise NotThisPrompt(_OTHER)


def _places(texts: Sequence[str], text: str, begin: int, end: int) -> list[tuple[int, int]]:
    stands, place = [], begin
    for each in texts:
        start = text.find(each, place, end)
        if start < 0:
            raise NotThisPrompt(_OTHER)
        place = start + len(each)
        stands.append((start, place))
    place = end
    for each, (start, _) in zip(reversed(texts), reversed(stands), strict=True):
        place = text.rfind(each, begin, place)
        if place != start:
            raise NotThisPrompt(_SEVERAL)
    return stands


_OTHER = stored("its text is not the prompt's")
_SEVERAL = stored("it fits the prompt in more than one way, so that its inputs cannot be told")


def with_prompt(imported: Imported, path: Path) -> Imported:
    """The requests of an import as cases and outputs of the prompt ``path``, with the spec beside it.

    What does not come from the prompt is left out and noted.
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
    inputs = prompt.meta.get("inputs")
    return {"inputs": dict(inputs)} if isinstance(inputs, Mapping) and inputs else {}


def _spec(prompt: Path) -> Spec | None:
    spec = files_of(prompt).spec
    return read_spec(spec) if spec.exists() else None
