"""The spec, the cases and the grades of a prompt, by its name: of ``mail.v2.md`` the file ``mail.v2.spec.yaml``."""

from __future__ import annotations

import glob
import re
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

    Raises:
        PromptFileError: the path names no file, as ``.`` and ``/`` do.
    """
    if not prompt.name:
        raise PromptFileError("this is a folder; name the prompt's file", path=prompt)
    if kind in _OWN:
        return prompt.with_name(f"{stem(prompt) or prompt.name}.{_OWN[kind]}")
    own = prompt.with_name(f"{stem(prompt) or prompt.name}.{kind}.yaml")
    short = prompt.with_name(f"{prompt.name.split('.')[0] or prompt.name}.{kind}.yaml")
    if own != short and not own.exists() and _names(short, prompt.name):
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
    """Whether a spec or cases file is there and names this prompt, or none."""
    return file.is_file() and _named_in(file) in (None, prompt)


def _names(file: Path, prompt: str) -> bool:
    return _named_in(file) == prompt


def _named_in(file: Path) -> str | None:
    """The prompt that a file says it is for; None where it says nothing or cannot be read."""
    try:
        prompt_line = _PROMPT.search(read_bytes(file, error=InputError, what="file", limit=MAX_BYTES))
    except InputError:
        return None
    return None if prompt_line is None else prompt_line["name"].decode("utf-8", "replace").strip()
