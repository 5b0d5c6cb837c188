"""Recorded requests as a project: what all of them say is the prompt, what differs are inputs.

Chats with the same roles are one prompt: a turn that is the same in all of them stands in it, any other is a variable,
and the last turn of the user always is (``input``). Equal requests are one case, and several answers to it repeats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.core.records import INPUT_VARIABLE, Case, Message, Output, Suite
from promptpex.core.translation import stored
from promptpex.interchange.format import Imported, ImportedPrompt
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo.rules import literal
from promptpex.interchange.reading.exchanges import Exchange, Ids, Recorded, label

MAX_PROMPTS = 20
"""Sequences of roles in one file that become prompts."""


def assembled(
    exchanges: Sequence[Exchange],
    path: Path,
    log: Log,
    *,
    called: str = "",
) -> Imported:
    """The prompts, cases and outputs of these requests.

    Args:
        called: the prompt's name; without it that of the file.
    """
    if not exchanges:
        first = next((note for note in log.notes if note.became == "left out"), None)
        why = f"; the first reason: {first.why}" if first is not None else ""
        line = first.line if first is not None else None
        raise InputError(f"nothing in this file can be imported{why}", path=path, line=line)
    recorded = Recorded(tuple(exchanges), log.notes)
    by_roles: dict[tuple[str, ...], list[Exchange]] = {}
    for each in exchanges:
        by_roles.setdefault(each.roles, []).append(each)
    alone = by_roles.pop((), [])
    if not by_roles:
        return replace(_alone(alone, log), recorded=recorded)
    for each in alone:
        why = stored("it has no chat, although others in the file do; name the prompt with --prompt")
        log.left_out(each.at.name, why, each.at.path, each.at.line)
    groups = sorted(by_roles.values(), key=len, reverse=True)
    for group in groups[MAX_PROMPTS:]:
        for each in group:
            why = stored("the file holds more than {limit} sequences of roles", limit=MAX_PROMPTS)
            log.left_out(each.at.name, why, each.at.path, each.at.line)
    parts = [
        _project(group, called or path.stem or "chats", number, log)
        for number, group in enumerate(groups[:MAX_PROMPTS])
    ]
    return replace(parts[0], further=tuple(parts[1:]), over=dict(log.over), notes=log.notes, recorded=recorded)


def _alone(exchanges: Sequence[Exchange], log: Log) -> Imported:
    for each in exchanges:
        if each.answers:
            why = stored("the file does not contain the prompt behind its outputs; name it with --prompt")
            log.left_out(each.at["output"].name, why, each.at.path, each.at.line)
    made = gathered([(each, each.inputs) for each in exchanges], log, outputs=False)
    return replace(made, over=dict(log.over), notes=log.notes)


def _project(exchanges: Sequence[Exchange], called: str, number: int, log: Log) -> Imported:
    messages, inputs = inferred_template(
        [each.messages for each in exchanges], {name for each in exchanges for name in each.inputs}
    )
    suffix = f"-{number + 1}" if number else ""
    prompt = ImportedPrompt(f"{called}{suffix}", messages, stem=f"prompt{suffix}")
    pairs = [(each, {**each.inputs, **values}) for each, values in zip(exchanges, inputs, strict=True)]
    return replace(gathered(pairs, log), prompt=prompt)


def inferred_template(
    chats: Sequence[tuple[Message, ...]], taken: Iterable[str] = ()
) -> tuple[tuple[Message, ...], list[dict[str, str]]]:
    """The prompt that chats with the same roles have in common, and what each of them puts into it.

    Args:
        taken: names that its variables may not have.
    """
    first, names = chats[0], Ids()
    for name in taken:
        names.free(name, name)
    users = [place for place, message in enumerate(first) if message.role == "user"]
    input_place = users[-1] if users else len(first) - 1
    variables: dict[int, str] = {}
    for place, message in enumerate(first):
        if place == input_place or any(chat[place] != message for chat in chats):
            variable_name = (
                INPUT_VARIABLE
                if place == input_place
                else message.role
                if place == 0
                else f"{message.role}_{place + 1}"
            )
            variables[place] = names.free(variable_name, variable_name).replace("-", "_")
    messages = tuple(
        Message(
            role=message.role,
            content=f"{{{{{variables[place]}}}}}" if place in variables else _as_template(message.content),
        )
        for place, message in enumerate(first)
    )
    return messages, [{name: chat[place].content for place, name in variables.items()} for chat in chats]


def _as_template(text: str) -> str:
    """A template that writes the text, with the blanks around it and the line ends that a prompt file does not keep."""
    return literal(text, always="\r" in text or text != text.strip())


def gathered(pairs: Sequence[tuple[Exchange, Mapping[str, object]]], log: Log, *, outputs: bool = True) -> Imported:
    """The cases of requests with their inputs, equal ones once, and the outputs to them."""
    cases: dict[str, Case] = {}
    answers: list[Output] = []
    repeats: dict[tuple[str, str], int] = {}
    ids = Ids()
    for number, (exchange, inputs) in enumerate(pairs, 1):
        key = json.dumps([inputs, exchange.expected], sort_keys=True, default=str)
        if key not in cases:
            cases[key] = _case(exchange, inputs, ids.free(exchange.name, f"t{number}"))
        elif not exchange.answers or not outputs:
            why = stored("it is the same as an earlier one, so the two are one case")
            log.changed(exchange.at.name, why, exchange.at.path, exchange.at.line)
        for reply in exchange.answers if outputs else ():
            at = cases[key].id, label(reply.model)
            repeats[at] = repeats.get(at, -1) + 1
            answers.append(reply.output(at[0], repeats[at]))
    log.came("cases", len(cases))
    log.came("outputs", len(answers))
    return Imported(suite=Suite(cases=tuple(cases.values())), outputs=tuple(answers))


def _case(exchange: Exchange, inputs: Mapping[str, object], name: str) -> Case:
    right = {"expected": exchange.expected[0], "also_right": exchange.expected[1:]} if exchange.expected else {}
    known_fields = {key: value for key, value in right.items() if value != ()}
    return Case.model_validate({"id": name, "inputs": dict(inputs), "origin": "added", **known_fields})
