"""Prompt files: reading them in every format we know, and rendering them with a case's inputs."""

from __future__ import annotations

from promptpex.promptfile.find_prompts import common_folder, find_prompts
from promptpex.promptfile.formats import stem
from promptpex.promptfile.is_prompt_file import has_own_files, is_prompt
from promptpex.promptfile.path_patterns import is_pattern
from promptpex.promptfile.read import examine, parse, read, read_with_warnings
from promptpex.promptfile.render import RENDERING_SECONDS, messages_text, render, renderer, required, sent_text
from promptpex.promptfile.sibling_files import prompt_beside, sibling
from promptpex.promptfile.write import file_of

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
