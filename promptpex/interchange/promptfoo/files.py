"""A promptfoo configuration and the files that it names, as data with places: read inside its folder alone.

What is read may come from a stranger: nothing is fetched or run, and a name that leads out of the folder is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from promptpex.codecs import jsonl
from promptpex.codecs.ordinary_files import inside, is_inside
from promptpex.codecs.text_file import read_text
from promptpex.core.errors import InputError
from promptpex.documents import yaml_reader
from promptpex.interchange.notes import Log
from promptpex.interchange.places import At

FILE = "file://"
MAX_BYTES = yaml_reader.MAX_BYTES
MAX_FILES = 1_000
"""Files that one pattern may name."""
_ELSEWHERE = re.compile(r"(?:https?|az|huggingface|s3|gs|langfuse|helicone|portkey|package|exec|python)(?:://|:)")
_PATTERN = re.compile(r"[*?\[{]")


class ConfigFiles:
    """The files of a configuration, and the log of what becomes of them.

    Args:
        folder: the only one that anything is read from.
    """

    def __init__(self, folder: Path, log: Log) -> None:
        self.folder = folder
        self.log = log

    def came(self, what: str, at: At) -> None:
        """Counts what is here as it was there."""
        self.log.came_from(what, at.name if at.row is None else f"{at.row} {at.name}", at.path)

    def changed(self, at: At, why: str) -> None:
        """Notes what means something else here."""
        self.log.changed(at.name, why, at.path, at.line)

    def left_out(self, at: At, why: str) -> None:
        """Notes what could not come over."""
        self.log.left_out(at.name, why, at.path, at.line)

    def path_of(self, name: str, at: At) -> Path:
        """The file that a name with or without ``file://`` means.

        Raises:
            InputError: it is elsewhere, or outside the folder.
        """
        if _ELSEWHERE.match(name):
            raise at.fail(f"{name.partition(':')[0]} addresses are not followed; save the file beside this one")
        plain = name.removeprefix(FILE)
        return inside(self.folder, plain, error=InputError, what="file", path=at.path, line=at.line)

    def text(self, path: Path) -> str:
        """The text of a file.

        Raises:
            InputError: missing, too long, binary.
        """
        return read_text(path, error=InputError, what="file", limit=MAX_BYTES)

    def data(self, path: Path) -> tuple[object, At]:
        """What a YAML or JSON file holds, and its place; of JSON lines a list.

        Raises:
            InputError: it is neither, or expands too far.
        """
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            lines = list(jsonl.parse(self.text(path), path=path, error=InputError))
            return [line.value for line in lines], At(path, row=1)
        doc = yaml_reader.read(path, error=InputError, what="file", limit=MAX_BYTES)
        return merged(doc.data), At(path, doc=doc)

    def matching(self, name: str, at: At) -> list[Path]:
        """The files that a name or a pattern means, in order; the one file of a plain name need not exist.

        Raises:
            InputError: they are outside the folder, or too many.
        """
        plain = name.removeprefix(FILE)
        if not _PATTERN.search(plain) or (self.folder / plain).is_file():
            return [self.path_of(name, at)]
        if plain.startswith(("/", "\\")) or ".." in plain or plain.count("**") > 1:
            raise at.fail(f"the pattern {plain!r} leads out of the folder of the file that names it, or too deep")
        try:
            every = (path for path in self.folder.glob(plain) if path.is_file() and is_inside(path, self.folder))
            files = [path for _, path in zip(range(MAX_FILES + 1), every, strict=False)]
        except (ValueError, NotImplementedError, OSError) as failure:
            raise at.fail(f"the pattern {plain!r} cannot be used: {failure}") from None
        if not files or len(files) > MAX_FILES:
            raise at.fail(f"the pattern {plain!r} names {len(files) or 'no'} files; the limit is {MAX_FILES}")
        return sorted(files)


def merged(value: object) -> object:
    """The data with YAML's merge keys (``<<``) filled in, as promptfoo's reader does; what stands beside them wins."""
    if isinstance(value, list):
        return [merged(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = {key: merged(item) for key, item in value.items() if key != "<<"}
    given = value.get("<<")
    parts = given if isinstance(given, list) else [given]
    for part in parts:
        if isinstance(part, dict):
            own = {**{key: item for key, item in _mapping(merged(part)).items() if key not in own}, **own}
    return own


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
