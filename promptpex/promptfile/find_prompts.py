"""The prompts that files, patterns and folders stand for: each once, in the order of their paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from promptpex.core.errors import PromptFileError
from promptpex.promptfile.is_prompt_file import is_prompt
from promptpex.promptfile.path_patterns import is_pattern, paths_that_fit
from promptpex.promptfile.searched_folders import entered, is_left_out


def find_prompts(named: Iterable[Path | str]) -> list[Path]:
    """The prompts that are meant, sorted by their paths.

    Args:
        named: files, which are taken as they are; folders, in which ``is_prompt`` says what counts, links to folders
            are not followed and hidden folders, virtual environments, ``NOT_ENTERED`` and those of syntheses are left
            out; patterns such as ``prompts/**/*.md``, in which the same holds for ``**``.

    Raises:
        PromptFileError: a folder or a pattern that stands for no prompt.
    """
    chosen: dict[Path, Path] = {}
    for one in map(Path, named):
        for path in _meant_by(one):
            chosen.setdefault(Path(os.path.realpath(path.parent)) / path.name, path)
    return sorted(chosen.values(), key=lambda path: path.parts)


def common_folder(prompts: Sequence[Path]) -> Path:
    """The folder that has all of these prompts, from which their settings are looked for upwards."""
    return Path(os.path.commonpath([os.path.realpath(prompt.parent) for prompt in prompts]))


def _meant_by(named: Path) -> list[Path]:
    if named.is_dir():
        return _in_folder(named)
    if not is_pattern(named):
        return [named]
    matches = paths_that_fit(named)
    folders = [match for match in matches if os.path.isdir(match) and not is_left_out(match)]
    below = [prompt for folder in folders for prompt in _prompts_below(folder)]
    prompts = [match for match in matches if os.path.isfile(match) and is_prompt(match, named=True)]
    if not prompts and not below:
        raise PromptFileError("no prompt fits this pattern", path=named)
    return [*prompts, *below]


def _in_folder(folder: Path) -> list[Path]:
    prompts = list(_prompts_below(folder))
    if not prompts:
        message = "no prompt in this folder: a prompt is a file named prompt.*, or one with a spec or cases beside it"
        raise PromptFileError(message, path=folder)
    return prompts


def _prompts_below(folder: Path) -> Iterator[Path]:
    for place, files in entered(folder):
        yield from (place / name for name in files if not name.startswith(".") and is_prompt(place / name))
