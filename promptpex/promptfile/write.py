"""Prompts as the text of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from promptpex.core.errors import PromptFileError
from promptpex.core.records import Message
from promptpex.documents import yaml_writer
from promptpex.promptfile.read import parse


def file_of(
    name: str, messages: Sequence[Message], front: Mapping[str, Any] | None = None, *, stem: str = "prompt"
) -> tuple[str, str]:
    """A file name and a text that read back as these messages: Markdown, or JSON where that would not do.

    Args:
        front: further front matter. stem: what the file is called, without its ending.

    Raises:
        PromptFileError: a message's template is broken.
    """
    front = front or {}
    turns = "\n\n".join(f"{message.role}:\n{message.content}" for message in messages)
    rest = yaml_writer.document(front) if front else ""
    text = f"---\nname: {json.dumps(name)}\n{rest}---\n{turns}\n"
    if _reads_back(text, messages):
        return f"{stem}.md", text
    data = {"name": name, **front, "messages": [message.to_dict() for message in messages]}
    return f"{stem}.json", json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _reads_back(text: str, messages: Sequence[Message]) -> bool:
    try:
        return parse(text, "prompt.md").messages == tuple(messages)
    except PromptFileError:
        return False
