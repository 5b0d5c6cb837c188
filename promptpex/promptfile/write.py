"""Prompts as the text of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from promptpex.core.records import Message
from promptpex.promptfile.read import parse


def file_of(name: str, messages: Sequence[Message]) -> tuple[str, str]:
    """A file name and a text that read back as these messages: Markdown, or JSON where that would not do."""
    turns = "\n\n".join(f"{message.role}:\n{message.content}" for message in messages)
    text = f"---\nname: {json.dumps(name)}\n---\n{turns}\n"
    if parse(text, "prompt.md").messages == tuple(messages):
        return "prompt.md", text
    data = {"name": name, "messages": [message.to_dict() for message in messages]}
    return "prompt.json", json.dumps(data, ensure_ascii=False, indent=1) + "\n"
