"""Prompt files: reading them in every format we know, and rendering them with a case's inputs."""

from __future__ import annotations

from promptpex.promptfile.find_prompts import (
    common_folder,
    find_prompts,
    has_own_files,
    is_pattern,
    is_prompt,
    prompt_beside,
    sibling,
)
from promptpex.promptfile.formats import stem
from promptpex.promptfile.read import examine, file_of, parse, read, read_with_warnings
from promptpex.promptfile.render import RENDERING_SECONDS, messages_text, render, renderer, required, sent_text

__all__ = [
    "common_folder",
    "RENDERING_SECONDS",
    "sibling",
    "examine",
    "file_of",
    "find_prompts",
    "has_own_files",
    "is_pattern",
    "is_prompt",
    "messages_text",
    "parse",
    "prompt_beside",
    "read",
    "read_with_warnings",
    "render",
    "renderer",
    "required",
    "sent_text",
    "stem",
]
