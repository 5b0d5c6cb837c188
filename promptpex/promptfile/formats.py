"""The formats of prompt files, each read into front matter and messages with the lines they begin on.

Markdown and text with role lines are ours; Prompty's front matter in both versions, GitHub's ``.prompt.yml`` and
OpenAI's list of messages are read as their documents describe them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.core.errors import PromptFileError
from promptpex.core.records import Message, Role
from promptpex.documents import yaml_reader

WHAT = "prompt file"
_ROLE_LINE = re.compile(r"(system|user|assistant):[ \t]*\Z")
_PROMPTY_ROLE_LINE = re.compile(
    r"[ \t]{0,9}#?[ \t]{0,9}(system|user|assistant|developer)[ \t]{0,9}(?:\[[^\]]{0,200}\])?[ \t]{0,9}:[ \t]*\Z",
    re.IGNORECASE | re.ASCII,
)
_MARKDOWN_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^)\n]{1,2000}\)")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
SUFFIXES = (
    ".md",
    ".txt",
    ".prompty",
    ".prompt.yml",
    ".prompt.yaml",
    ".yml",
    ".yaml",
    ".j2",
    ".jinja",
    ".jinja2",
    ".json",
)


@dataclass
class ParsedMessage:
    """A message with the line of the file that its text begins on."""

    message: Message
    line: int


@dataclass
class ParsedPrompt:
    """What a file holds, before variables are looked for."""

    messages: list[ParsedMessage]
    front: dict[str, object] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def parse_text(text: str, path: Path | str) -> ParsedPrompt:
    """The parsed file, by the form its name says it has."""
    name = str(path).lower()
    if name.endswith(".json"):
        return _from_json(text, path)
    if name.endswith((".yml", ".yaml")):
        return _from_yaml(text, path)
    return _from_body(text, path, prompty=name.endswith(".prompty"))


def stem(path: Path | str) -> str:
    name = Path(path).name
    suffix = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)] or name


def _from_body(text: str, path: Path | str, *, prompty: bool) -> ParsedPrompt:
    lines = text.split("\n")
    parsed = ParsedPrompt([])
    start = 0
    if lines[0].rstrip() == "---":
        start = _front_matter(lines, path, parsed)
    role_line = _PROMPTY_ROLE_LINE if prompty else _ROLE_LINE
    parsed.messages = _split_roles(lines, start, role_line, parsed.warnings)
    if prompty:
        parsed.warnings += _not_sent(lines, start)
    return parsed


def _not_sent(lines: list[str], start: int) -> list[str]:
    """What Prompty would send of these lines and we do not: images, and attributes of turns."""
    fenced = _fenced_lines(lines, start)
    warnings = []
    for number in range(start, len(lines)):
        if number not in fenced and _PROMPTY_ROLE_LINE.match(lines[number]) and "[" in lines[number]:
            warnings.append(f"line {number + 1}: here a turn has a role and nothing else: {lines[number].strip()[:80]}")
        elif _MARKDOWN_IMAGE.search(lines[number]):
            warnings.append(f"line {number + 1}: only text is sent to models: the image stays in the text as written")
    return warnings


def _front_matter(lines: list[str], path: Path | str, parsed: ParsedPrompt) -> int:
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        raise PromptFileError(
            "the front matter that begins here never ends; close it with a line '---'", path=path, line=1
        )
    doc = yaml_reader.load("\n".join(lines[1:end]), path=path, error=PromptFileError, what="front matter", first_line=2)
    _take_front(doc, parsed)
    return end + 1


def _take_front(doc: yaml_reader.YamlDoc, parsed: ParsedPrompt) -> None:
    if doc.data is None:
        return
    if not isinstance(doc.data, dict):
        raise doc.fail("the front matter must be 'key: value' lines")
    parsed.front = doc.data
    lines = {name.value: name.start_mark.line + doc.first_line for name, _ in doc.root.value}
    parsed.lines = {key: lines.get(key, doc.line()) for key in doc.data}


def _split_roles(lines: list[str], start: int, role_line: re.Pattern[str], warnings: list[str]) -> list[ParsedMessage]:
    fenced = _fenced_lines(lines, start)
    messages: list[ParsedMessage] = []
    role: Role = "system"
    begin = start
    split = False
    for number in range(start, len(lines) + 1):
        match = role_line.match(lines[number]) if number < len(lines) and number not in fenced else None
        if match is None and number < len(lines):
            continue
        content = "\n".join(lines[begin:number])
        if content.strip():
            messages.append(ParsedMessage(Message(role=role, content=content.strip()), _first_line(lines, begin)))
        elif split:
            warnings.append(f"line {begin}: the {role} message is empty and left out")
        if match is not None:
            role, begin, split = _ROLES[match.group(1).lower()], number + 1, True
    return messages


def _first_line(lines: list[str], begin: int) -> int:
    return next(number for number in range(begin, len(lines)) if lines[number].strip()) + 1


def _fenced_lines(lines: list[str], start: int) -> set[int]:
    """The lines inside code fences that close again: a role name there is part of the text."""
    inside: set[int] = set()
    opened: tuple[int, str] | None = None
    for number in range(start, len(lines)):
        fence = _FENCE.match(lines[number])
        if fence is None:
            continue
        if opened is None:
            opened = (number, fence.group(1))
        elif fence.group(1).startswith(opened[1]) and not lines[number][fence.end() :].strip():
            inside.update(range(opened[0], number + 1))
            opened = None
    return inside


def _from_yaml(text: str, path: Path | str) -> ParsedPrompt:
    doc = yaml_reader.load(text, path=path, error=PromptFileError, what=WHAT)
    messages = doc.data.get("messages") if isinstance(doc.data, dict) else None
    if not isinstance(messages, list):
        raise doc.fail("a prompt in YAML needs 'messages', a list of roles and contents")
    parsed = ParsedPrompt([])
    _take_front(doc, parsed)
    del parsed.front["messages"]
    for number, item in enumerate(messages):
        line = doc.line("messages", number, "content")
        _take_message(item, number, line, path, parsed)
    return parsed


def _line_of(failure: json.JSONDecodeError) -> int:
    """The line at which JSON breaks; Python 3.13 and later report a trailing comma at the comma itself."""
    if not failure.msg.startswith("Illegal trailing comma"):
        return failure.lineno
    after = failure.doc[failure.pos + 1 :]
    return failure.doc.count("\n", 0, len(failure.doc) - len(after.lstrip())) + 1


def _from_json(text: str, path: Path | str) -> ParsedPrompt:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as failure:
        raise PromptFileError(f"this is not valid JSON: {failure.msg}", path=path, line=_line_of(failure)) from None
    except (RecursionError, ValueError):
        raise PromptFileError(
            "the JSON is nested too deeply or contains a number that is too long", path=path
        ) from None
    parsed = ParsedPrompt([])
    if isinstance(data, dict):
        parsed.front = {key: value for key, value in data.items() if key != "messages"}
        data = data.get("messages")
    if not isinstance(data, list):
        raise PromptFileError("a prompt in JSON must be a list of messages with 'role' and 'content'", path=path)
    for number, item in enumerate(data):
        _take_message(item, number, None, path, parsed)
    return parsed


def _take_message(item: object, number: int, line: int | None, path: Path | str, parsed: ParsedPrompt) -> None:
    where = f"message {number + 1}"
    if not isinstance(item, Mapping) or not isinstance(item.get("role"), str):
        raise PromptFileError(f"{where} needs a 'role' and a 'content'", path=path, line=line)
    role = _ROLES.get(item["role"].lower())
    if role is None:
        message = f"{where} has the role {item['role']!r}; use system, user or assistant"
        raise PromptFileError(message, path=path, line=line)
    content = _content(item.get("content"), where, line, path)
    extra = sorted(str(key) for key in item if key not in ("role", "content"))
    if extra:
        parsed.warnings.append(f"{where}: not used: {', '.join(extra)}")
    if content.strip():
        parsed.messages.append(ParsedMessage(Message(role=role, content=content.strip()), line or 1))
    else:
        parsed.warnings.append(f"{where} is empty and left out")


def _content(content: object, where: str, line: int | None, path: Path | str) -> str:
    if isinstance(content, str):
        return content.replace("\r\n", "\n")
    if content is None:
        return ""
    if not isinstance(content, list):
        raise PromptFileError(f"{where}: 'content' must be text or a list of text parts", path=path, line=line)
    texts: list[str] = []
    for part in content:
        if not isinstance(part, Mapping) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise PromptFileError(f"{where} has a part that is not text; only text can be sent", path=path, line=line)
        texts.append(part["text"])
    return "\n".join(texts)
