"""promptfoo's prompts as messages: texts, chats in JSON or YAML, and files of them.

promptfoo sends a text as one user message. What makes prompts by running, or fetches them, is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.codecs.files.ordinary_files import is_file
from promptpex.core.errors import InputError
from promptpex.core.records import Message
from promptpex.core.records.prompt import Role
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.promptfoo.files import FILE, ConfigFiles
from promptpex.interchange.reading.foreign_files import At, items, named, text_of_parts

ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_PROGRAMS = (".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".sh", ".bash", ".exe", ".bat", ".cmd", ".ps1",
             ".rb", ".pl")  # fmt: skip
_FILES = (".txt", ".json", ".jsonl", ".yaml", ".yml", ".md", ".j2", ".jinja", ".csv")
_ELSEWHERE = ("exec:", "langfuse://", "helicone://", "portkey://", "http://", "https://", "package:")
_PARTIAL = (("{{", "}"), ("{%", "%"), ("{#", "#"))
"""How a template begins, and what does not follow on its line where it is plain text to promptfoo."""
_TAG = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}%]*%\}")
_ENVIRONMENT = re.compile(r"(?<![\w.'\"])env\.([A-Za-z_]\w{0,99})")
_DUMPED = re.compile(r"\{\{-?\s*([A-Za-z_][\w.]*)\s*\|\s*dump\s*-?\}\}")
_DUMP = re.compile(r"\|\s*dump\b(?:\(\d*\))?")


@dataclass(frozen=True, slots=True)
class TheirPrompt:
    """A prompt of a configuration.

    Attributes:
        label: what the configuration calls it; empty where it does not.
        is_chat: whether it was written as a list of turns.
    """

    label: str
    messages: tuple[Message, ...]
    is_chat: bool
    at: At


def read_prompts(files: ConfigFiles, value: object, at: At) -> list[TheirPrompt]:
    return [_without_environment(files, prompt) for prompt in _every(files, value, at)]


def _without_environment(files: ConfigFiles, prompt: TheirPrompt) -> TheirPrompt:
    """The prompt with an input for each variable of the environment that its template names."""

    def as_input(name: re.Match[str]) -> str:
        why = stored("environment variables are not read: it becomes an empty input")
        files.log.changed(f"{prompt.at.name}: {name.group()}", why, prompt.at.path, prompt.at.line)
        return name.group(1)

    def without(text: str) -> str:
        return _TAG.sub(lambda tag: _ENVIRONMENT.sub(as_input, tag.group()), text) if "env." in text else text

    messages = (message.replace(content=without(message.content)) for message in prompt.messages)
    return replace(prompt, messages=tuple(messages))


def _every(files: ConfigFiles, value: object, at: At) -> list[TheirPrompt]:
    prompts: list[TheirPrompt] = []
    if isinstance(value, dict) and not {"raw", "id", "label", "file"} & set(value):
        for name, label in value.items():
            prompts += _written(files, name, label if isinstance(label, str) else "", at[name])
        return prompts
    for item, place in items(value, at, "prompts"):
        raw, label = item, ""
        if isinstance(item, dict):
            raw = item.get("raw", item.get("file", item.get("id")))
            label = str(item.get("label") or "")
            read = {"raw", "file", "label"} | (set() if "raw" in item else {"id"})
            for key in sorted(item.keys() - read):
                files.left_out(place[key], stored("here a prompt has only text and a label"))
        if not isinstance(raw, str):
            raise place.fail(f"a prompt must be text or the name of a file, not {named(raw)}")
        prompts += _written(files, raw, label, place)
    return prompts


def _written(files: ConfigFiles, raw: str, label: str, at: At) -> Iterator[TheirPrompt]:
    if raw.startswith(_ELSEWHERE):
        return files.left_out(at, stored("it is made by a program or fetched; write out its text"))
    for path in _files_of(files, raw, at):
        if path is None:
            yield from prompts_of_text(files, raw, label, at)
        elif _is_program(path.name):
            files.left_out(at, stored("a program makes this prompt, and import runs no programs; write out its text"))
        else:
            yield from _of_file(files, path, label, at)


def _files_of(files: ConfigFiles, raw: str, at: At) -> list[Path | None]:
    """The files that an entry names; None: it is the text itself."""
    if raw.startswith(FILE):
        name, colon, function = raw.removeprefix(FILE).rpartition(":")
        return [*files.matching(name if colon and _is_program(name) and function.isidentifier() else raw, at)]
    plain = "\n" not in raw and "{{" not in raw and (raw.lower().endswith((*_FILES, *_PROGRAMS)) or "*" in raw)
    if not plain:
        return [None]
    try:
        matching = files.matching(raw, at)
    except InputError:
        if raw.lower().endswith((*_FILES, *_PROGRAMS)):
            raise
        return [None]
    return [*matching] if all(map(is_file, matching)) else [None]


def _is_program(name: str) -> bool:
    return name.lower().endswith(_PROGRAMS)


def _of_file(files: ConfigFiles, path: Path, label: str, at: At) -> Iterator[TheirPrompt]:
    ending, label = path.suffix.lower(), label or path.stem
    if ending in (".yaml", ".yml", ".json"):
        data, place = files.data(path)
        yield from _chat(files, data, label, place)
    elif ending == ".csv":
        yield from _table(files, path, at)
    elif ending == ".jsonl":
        for number, line in enumerate(files.text(path).splitlines(), 1):
            yield from prompts_of_text(files, line, label, At(path, row=number)) if line.strip() else ()
    else:
        pieces = re.split(r"(?m)^[ \t]*---[ \t]*\r?$", files.text(path)) if ending == ".txt" else [files.text(path)]
        for piece in filter(str.strip, pieces):
            yield from prompts_of_text(files, piece, label, At(path, row=1))


def _table(files: ConfigFiles, path: Path, at: At) -> Iterator[TheirPrompt]:
    rows = files.table(path)
    head = [name.strip().lower() for name in rows[0].cells] if rows else []
    column = head.index("prompt") if "prompt" in head else 0
    labels = head.index("label") if "label" in head else None
    for row in rows[1 if "prompt" in head else 0 :]:
        if len(row.cells) > column and row.cells[column].strip():
            label = row.cells[labels] if labels is not None and len(row.cells) > labels else path.stem
            yield from prompts_of_text(files, row.cells[column], label, At(path, row=row.line))


def prompts_of_text(files: ConfigFiles, raw: str, label: str, at: At) -> Iterator[TheirPrompt]:
    """A prompt from its text: a chat where it is JSON, or YAML that begins with a role."""
    trimmed = raw.strip()
    if trimmed.startswith("- role:"):
        doc = yaml_reader.load(raw, path=at.path, error=InputError, what="prompt", first_line=at.line or 1)
        yield from _chat(files, doc.data, label, at)
        return
    if trimmed.startswith(("[", "{")) and not trimmed.startswith(("{{", "{%", "{#")):
        try:
            data = json.loads(_DUMPED.sub(r'"{{\1}}"', trimmed))
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, list | dict):
            yield from _chat(files, data, label, at)
            return
    if not trimmed:
        raise at.fail("the prompt is empty")
    files.log.came("prompts")
    yield TheirPrompt(label, (Message(role="user", content=_template(trimmed)),), False, at)


def _chat(files: ConfigFiles, data: object, label: str, at: At) -> Iterator[TheirPrompt]:
    turns = data.get("messages") if isinstance(data, dict) else data
    messages = []
    for turn in turns if isinstance(turns, list) else [None]:
        role = ROLES.get(str(turn.get("role")).lower()) if isinstance(turn, dict) else None
        text = text_of_parts(turn.get("content")) if isinstance(turn, dict) else None
        if role is None or text is None:
            return files.left_out(at, stored("only system, user and assistant turns with text can be sent"))
        if text.strip():
            messages.append(Message(role=role, content=_template(text.strip())))
    if messages:
        files.log.came("prompts")
        yield TheirPrompt(label, tuple(messages), True, at)


def _template(text: str) -> str:
    if _is_partial(text) and not ("{% raw %}" in text and "{% endraw %}" in text):
        return f"{{% raw %}}{text}{{% endraw %}}"
    return _DUMP.sub("| tojson", text) if "dump" in text else text


def _is_partial(text: str) -> bool:
    for line in text.split("\n") if "{" in text else ():
        for begin, end in _PARTIAL:
            place = line.rfind(begin)
            if place >= 0 and end not in line[place + len(begin) :]:
                return True
    return False
