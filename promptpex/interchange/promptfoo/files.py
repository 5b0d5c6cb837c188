"""A promptfoo configuration and the files that it names, as data with places: read inside its folder alone.

What is read may come from a stranger: nothing is fetched or run, and a name that leads out of the folder is refused.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from promptpex.codecs import jsonl
from promptpex.codecs.files.ordinary_files import MEGABYTE, inside, is_file, is_inside
from promptpex.codecs.files.text_file import read_text
from promptpex.codecs.safe_csv import CsvRow, read_rows
from promptpex.core.errors import InputError
from promptpex.documents import yaml_reader
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.foreign_values import At

FILE = "file://"
MAX_BYTES = yaml_reader.MAX_BYTES
MAX_FILES = 1_000
"""Files that one pattern may name."""
MAX_ENTRIES = 50_000
"""Files and folders that one pattern may look at."""
MAX_DEPTH = 12
MAX_BYTES_IN_ALL = 500 * MEGABYTE
"""Of all files that a configuration names, each as often as it is read."""
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
        self._read = self._bytes = 0

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
            raise at.fail(f"{name.partition(':')[0]} addresses are not fetched; save the file beside this one")
        plain = name.removeprefix(FILE)
        return inside(self.folder, plain, error=InputError, what="file", path=at.path, line=at.line)

    def text(self, path: Path) -> str:
        """The text of a file.

        Raises:
            InputError: missing, too long, binary.
        """
        self._take(path)
        return read_text(path, error=InputError, what="file", limit=MAX_BYTES)

    def table(self, path: Path) -> list[CsvRow]:
        """The rows of a CSV file, each cell as it stands.

        Raises:
            InputError: as ``text``, or it is not CSV.
        """
        lines = io.StringIO(self.text(path).removeprefix("\ufeff"), newline="")
        return list(read_rows(lines, path=path, guarded=False))

    def data(self, path: Path) -> tuple[object, At]:
        """What a YAML or JSON file holds, and its place; of JSON lines a list.

        Raises:
            InputError: it is neither, or expands too far.
        """
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            lines = list(jsonl.parse(self.text(path), path=path, error=InputError))
            return [line.value for line in lines], At(path, row=1)
        self._take(path)
        doc = yaml_reader.read(path, error=InputError, what="file", limit=MAX_BYTES)
        return merged(doc.data), At(path, doc=doc)

    def matching(self, name: str, at: At) -> list[Path]:
        """The files that a name or a pattern means, in order; the one file of a plain name need not exist.

        Raises:
            InputError: they are outside the folder, or too many.
        """
        plain = name.removeprefix(FILE)
        if not _PATTERN.search(plain) or is_file(self.folder / plain):
            return [self.path_of(name, at)]
        if plain.startswith(("/", "\\")) or ".." in plain or plain.count("**") > 1:
            raise at.fail(f"the pattern {plain!r} leads out of the folder of the file that names it, or is too deep")
        files = list(islice(self._matching(plain, at), MAX_FILES + 1))
        if not files or len(files) > MAX_FILES:
            raise at.fail(f"the pattern {plain!r} matches {len(files) or 'no'} files; the limit is {MAX_FILES}")
        return sorted(files)

    def _matching(self, pattern: str, at: At) -> Iterator[Path]:
        """The files in the folder that a pattern names; links to folders are not entered, which might have no end."""
        pattern_parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
        deepest = MAX_DEPTH if "**" in pattern_parts else len(pattern_parts) - 1
        files_seen = 0
        for place, folders, names in os.walk(self.folder):
            parts = Path(place).relative_to(self.folder).parts
            folders[:] = sorted(folders) if len(parts) < deepest else []
            files_seen += len(folders) + len(names)
            if files_seen > MAX_ENTRIES:
                raise at.fail(f"the pattern {pattern!r} looks through more than {MAX_ENTRIES:,} files; name them")
            for name in names:
                path = Path(place, name)
                if _fits((*parts, name), pattern_parts) and is_file(path) and is_inside(path, self.folder):
                    yield path

    def _take(self, path: Path) -> None:
        """Counts a file that is read; it may be named again and again."""
        self._read += 1
        with suppress(OSError, ValueError):
            self._bytes += path.stat().st_size
        if self._read > MAX_FILES * 10 or self._bytes > MAX_BYTES_IN_ALL:
            limit = f"{MAX_FILES * 10:,} files, or {MAX_BYTES_IN_ALL // MEGABYTE} MB"
            raise InputError(f"the configuration reads more than {limit}; name each file once", path=path)


def _fits(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a path is one that a pattern names; ``**`` stands for any folders."""
    if "**" in wanted:
        place = wanted.index("**")
        before, after = wanted[:place], wanted[place + 1 :]
        rest = parts[len(parts) - len(after) :] if after else ()
        return len(parts) >= len(before) + len(after) and _fits(parts[:place], before) and _fits(rest, after)
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def merged(value: object) -> object:
    """The data with YAML's merge keys (``<<``) filled in, as promptfoo's reader does; what stands beside them wins."""
    if isinstance(value, list):
        return [merged(item) for item in value]
    if not isinstance(value, dict):
        return value
    merged_from = value.get("<<")
    filled: dict[str, object] = {}
    for part in reversed(merged_from if isinstance(merged_from, list) else [merged_from]):
        filled |= _merged_mapping(part) if isinstance(part, dict) else {}
    return filled | {key: merged(item) for key, item in value.items() if key != "<<"}


def _merged_mapping(value: Mapping[str, object]) -> Mapping[str, object]:
    mapping = merged(value)
    return mapping if isinstance(mapping, dict) else {}
