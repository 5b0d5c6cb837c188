"""Which files are prompts, the files beside them, and the prompts that files, patterns and folders stand for.

A folder of prompts also holds specs, cases, metrics, notes and pages; none of them is taken for a prompt. Patterns are
ours, since the standard library's ``glob`` follows links under ``**``: two links to their own folder are 2^40 paths.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from promptpex.codecs.files.ordinary_files import read_bytes
from promptpex.core.errors import InputError, PromptFileError
from promptpex.core.records import Spec, Suite
from promptpex.documents.yaml_reader import MAX_BYTES
from promptpex.promptfile.formats import SUFFIXES, stem

FileKind = Literal["spec", "cases", "grades", "blessed"]
SpecOrSuite = TypeVar("SpecOrSuite", Spec, Suite)

_OWN = {"grades": "grades.jsonl", "blessed": "blessed.json"}
"""Endings of files that earlier versions did not know by the short name."""

_OF_PROMPT = re.compile(r"(?P<stem>.+)\.(spec|cases)\.\w+")
_PROMPT = re.compile(rb"""(?m)^prompt:[ \t]*(?P<quote>["']?)(?P<name>[^"'#\r\n]*?)(?P=quote)[ \t]*(?:#.*)?\r?$""")


def sibling(prompt: Path, kind: FileKind) -> Path:
    """Where the prompt's spec, cases, grades or blessed figures are, or are to be written.

    Earlier versions cut the name at its first dot, so that ``mail.v1.md`` and ``mail.v2.md`` shared ``mail.spec.yaml``.
    Such a file is still used where there is no other and it names this prompt.
    """
    if not prompt.name:
        raise PromptFileError("this is a folder; name the prompt's file", path=prompt)
    if kind in _OWN:
        return prompt.with_name(f"{stem(prompt) or prompt.name}.{_OWN[kind]}")
    own = prompt.with_name(f"{stem(prompt) or prompt.name}.{kind}.yaml")
    short = prompt.with_name(f"{prompt.name.split('.')[0] or prompt.name}.{kind}.yaml")
    if own != short and not own.exists() and _named_in(short) == prompt.name:
        return short
    return own


def prompt_beside(file: Path | str) -> str:
    """The name of the prompt that a spec or cases file belongs to by its own name, as ``mail.spec.yaml`` to
    ``mail.md``; empty where there is none, or more than one."""
    path = Path(file)
    own = _OF_PROMPT.fullmatch(path.name)
    if own is None:
        return ""
    beside = path.parent.glob(f"{glob.escape(own['stem'])}.*")
    names = [one.name for one in beside if one.name.lower().endswith(SUFFIXES) and stem(one) == own["stem"]]
    return names[0] if len(names) == 1 else ""


def of_prompt_beside(record: SpecOrSuite, path: Path | str) -> SpecOrSuite:
    """A spec or suite with the name of its prompt, where the place of its file says it."""
    return record if record.prompt else record.replace(prompt=prompt_beside(path))


def belongs_to(file: Path, prompt: str) -> bool:
    return file.is_file() and _named_in(file) in (None, prompt)


def _named_in(file: Path) -> str | None:
    """The prompt that a file says it is for; None where it says nothing or cannot be read."""
    try:
        prompt_line = _PROMPT.search(read_bytes(file, error=InputError, what="file", limit=MAX_BYTES))
    except InputError:
        return None
    return None if prompt_line is None else prompt_line["name"].decode("utf-8", "replace").strip()


NAME = "prompt"
"""What a prompt may be called whatever is beside it: ``prompt.md``, ``prompt.txt`` and so on."""

OWN_FILES = (".spec", ".cases", ".metric", ".blessed")
"""How the names of files end that are kept beside a prompt, before their suffix."""


def is_prompt(path: Path, *, named: bool = False) -> bool:
    """Whether a file is a prompt, by its name and by what is beside it; what it holds is not read.

    Args:
        named: whether the user named the file itself: then any name that a prompt may have will do.
    """
    if not path.name.lower().endswith(SUFFIXES) or stem(path).endswith(OWN_FILES):
        return False
    return named or stem(path) == NAME or has_own_files(path)


def has_own_files(prompt: Path) -> bool:
    """Whether a spec or cases are beside a prompt that do not say they are another prompt's."""
    return any(belongs_to(sibling(prompt, kind), prompt.name) for kind in ("spec", "cases"))


NOT_ENTERED = frozenset({"node_modules", "results", "site-packages", "venv", "__pycache__"})
"""Folders of other things, as far as their names tell; hidden folders are not entered either."""

NOT_ENTERED_ENDING = ".synthesis"
MOST_FOLDERS = 2_000
"""Folders that are looked into below one that was named: far more than a project of prompts has."""

ENVIRONMENT = "pyvenv.cfg"
"""What a virtual environment is known by (PEP 405)."""


def entered(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each folder with the sorted names of the files in it; links to folders are not followed."""
    for number, (place, folders, files) in enumerate(os.walk(folder)):
        if number >= MOST_FOLDERS:
            message = f"this folder has more than {MOST_FOLDERS:,} others in it; name the one that has the prompts"
            raise PromptFileError(message, path=folder)
        place_path = Path(place)
        folders[:] = sorted(name for name in folders if not is_left_out(place_path / name))
        yield place_path, sorted(files)


def is_left_out(folder: Path) -> bool:
    name = folder.name
    by_name = name.startswith(".") or name in NOT_ENTERED or name.endswith(NOT_ENTERED_ENDING)
    return by_name or os.path.lexists(folder / ENVIRONMENT)


ANY_DEPTH = "**"


def is_pattern(named: Path) -> bool:
    """Whether a path stands for others by ``*``, ``?`` or ``[``; a file of that very name stands for itself."""
    return not os.path.lexists(named) and glob.has_magic(str(named))


def paths_that_fit(pattern: Path) -> list[Path]:
    """The paths that fit, sorted; of several ways to a folder, by links, one.

    Args:
        pattern: ``**`` stands for the folders that ``entered`` finds, and at the end also for the files in them; the
            other signs for names as in a shell, hidden ones where the pattern has their dot.
    """
    places = [Path(pattern.anchor)]
    for part in pattern.parts[1:] if pattern.anchor else pattern.parts:
        places = _each_once(path for place in places for path in _that_fit(place, part))
    return sorted(places)


def _that_fit(place: Path, part: str) -> Iterator[Path]:
    if part == ANY_DEPTH:
        for folder, files in entered(place):
            yield folder
            yield from (folder / name for name in files if not name.startswith("."))
    elif glob.has_magic(part):
        names = (name for name in _entries(place) if part.startswith(".") or not name.startswith("."))
        yield from (place / name for name in fnmatch.filter(names, part))
    elif os.path.lexists(place / part):
        yield place / part


def _entries(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _each_once(paths: Iterable[Path]) -> list[Path]:
    """A folder once, by the first of the ways to it; files as they are."""
    chosen: dict[str, Path] = {}
    for path in sorted(paths):
        chosen.setdefault(os.path.realpath(path) if os.path.isdir(path) else str(path), path)
    return list(chosen.values())


def find_prompts(named: Iterable[Path | str]) -> list[Path]:
    """The prompts that are meant, sorted by their paths.

    Args:
        named: files, which are taken as they are; folders, in which ``is_prompt`` says what counts, links to folders
            are not followed and hidden folders, virtual environments, ``NOT_ENTERED`` and those of syntheses are left
            out; patterns such as ``prompts/**/*.md``, in which the same holds for ``**``.
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
