"""The schema of front matter, and of prompts that are YAML as a whole, from the keys that ``promptfile`` declares."""

from __future__ import annotations

from file_schemas.draft07 import Schema
from promptpex.promptfile.front_matter import KEPT, STAGES, USED
from promptpex.workflow.stages import instructed

_MESSAGES: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["role"],
        "properties": {
            "role": {
                "enum": ["system", "user", "assistant", "developer"],
                "description": "Whose turn it is.",
                "examples": ["system"],
            },
            "content": {
                "type": ["string", "array", "null"],
                "description": "The text of the turn, a template over the inputs.",
                "examples": ["Translate {{sentence}}."],
            },
        },
    },
    "description": "The turns of the conversation, in a prompt that is YAML as a whole, such as tag.prompt.yml. In "
    "Markdown they stand below the front matter.",
    "examples": [[{"role": "system", "content": "Answer in one word."}, {"role": "user", "content": "{{question}}"}]],
}


def front_matter() -> Schema:
    """What the readers of front matter accept, as far as a schema can say that."""
    properties: Schema = {name: dict(about) for name, about in USED.items()}
    properties["instructions"]["propertyNames"] = {"enum": [*instructed(), *STAGES]}
    kept = {name: {"description": "Kept, and not used.", "examples": [_EXAMPLES[name]]} for name in KEPT}
    return {
        "description": "The front matter of a prompt, between two lines of three dashes at its top; optional.",
        "type": ["object", "null"],
        "properties": {**properties, "messages": _MESSAGES, **kept},
    }


_EXAMPLES: dict[str, object] = {
    "version": "1.2",
    "authors": ["Ada"],
    "author": "Ada",
    "tags": ["support"],
    "license": "MIT",
    "parameters": {"temperature": 0},
    "displayName": "Ticket triage",
    "metadata": {"team": "support"},
    "tools": [],
    "source": "prompts.csv",
    "url": "https://example.com/prompts",
    "imported": {"from": "prompts.csv"},
    "$schema": "prompt.schema.json",
}
