"""A promptfoo configuration and the files that it names, as data with places; programs as scripts, and variables.

What is read may come from a stranger: nothing is fetched or run, and a name that leads out of the folder is refused.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from promptpex.codecs import jsonl
from promptpex.codecs.files.ordinary_files import MEGABYTE, inside, is_file, is_inside, read_text
from promptpex.codecs.safe_csv import CsvRow, read_rows
from promptpex.codecs.text.inputs_as_text import has_template, raw
from promptpex.core.errors import InputError
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.foreign_files import At

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
        self.log.came_from(what, at.name if at.row is None else f"{at.row} {at.name}", at.path)

    def changed(self, at: At, why: str) -> None:
        self.log.changed(at.name, why, at.path, at.line)

    def left_out(self, at: At, why: str) -> None:
        self.log.left_out(at.name, why, at.path, at.line)

    def path_of(self, name: str, at: At) -> Path:
        if _ELSEWHERE.match(name):
            raise at.fail(f"{name.partition(':')[0]} addresses are not fetched; save the file beside this one")
        plain = name.removeprefix(FILE)
        return inside(self.folder, plain, error=InputError, what="file", path=at.path, line=at.line)

    def text(self, path: Path) -> str:
        self._take(path)
        return read_text(path, error=InputError, what="file", limit=MAX_BYTES)

    def table(self, path: Path) -> list[CsvRow]:
        lines = io.StringIO(self.text(path).removeprefix("\ufeff"), newline="")
        return list(read_rows(lines, path=path, guarded=False))

    def data(self, path: Path) -> tuple[object, At]:
        """What a YAML or JSON file holds, and its place; of JSON lines a list."""
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            lines = list(jsonl.parse(self.text(path), path=path, error=InputError))
            return [line.value for line in lines], At(path, row=1)
        self._take(path)
        doc = yaml_reader.read(path, error=InputError, what="file", limit=MAX_BYTES)
        return merged(doc.data), At(path, doc=doc)

    def matching(self, name: str, at: At) -> list[Path]:
        """The files that a name or a pattern means, in order; the one file of a plain name need not exist."""
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


ENDINGS = (".js", ".cjs", ".mjs")
_PROGRAMS = (*ENDINGS, ".ts", ".py")
_MODULES = re.compile(r"(?m)\brequire\s*\(|^\s*import\b|\bimport\s*\(")
_EXPORTED = re.compile(r"(?m)^(\s*)export\s+default\s+")
_NO_MODULES = stored("{name} needs modules, which the sandbox for checks does not have")


def script_of(code: str, function: str) -> str | None:
    """The code of a module as the body of a script; None where it needs other modules."""
    if _MODULES.search(code):
        return None
    code = _EXPORTED.sub(r"\1module.exports = ", code)
    exported = f"module.exports[{json.dumps(function)}]" if function else "(module.exports.default || module.exports)"
    body = (
        "const module = {exports: {}};\nconst exports = module.exports;\n"
        f"{code.rstrip()}\nreturn {exported}(output, context);"
    )
    return raw(body)


def transform_of(files: ConfigFiles, value: object, at: At) -> str | None:
    """A transform as a JavaScript expression or lines that return; None where it is none, which is noted."""
    if not isinstance(value, str) or not value.strip():
        return None
    if not value.startswith(FILE):
        return value
    name, function = named_function(value)
    path = files.path_of(name, at)
    if path.suffix.lower() not in ENDINGS:
        files.left_out(at, stored("a transform must be JavaScript; {name} is in another language", name=path.name))
        return None
    code = files.text(path)
    script = script_of(code, function)
    if script is None or has_template(code):
        why = stored("{name} contains template markup, which a transform would fill in", name=path.name)
        files.left_out(at, _NO_MODULES.format(name=path.name) if script is None else why)
        return None
    if "export" not in code:
        files.left_out(at, stored("{name} exports no function", name=path.name))
        return None
    files.came("transform", at)
    return script


def named_function(value: str) -> tuple[str, str]:
    """The name of a program's file, and the function in it that is meant, where one is named."""
    name, _, function = value.removeprefix(FILE).rpartition(":")
    return (name, function) if name.lower().endswith(_PROGRAMS) else (value.removeprefix(FILE), "")


MAX_TESTS = 100_000
"""That a configuration may make."""
MAX_FILLED = 10_000_000
"""Characters that names inside of texts may add to one test."""
_LONGEST_METRIC = 200
"""Characters of a metric's name after its variables are filled in."""
_PASSES = 5
"""How often names inside of texts are filled in: promptfoo's number."""
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)


class NotRead(str):
    """The empty text of a variable whose value could not be read."""

    __slots__ = ()


_MADE = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py")
_OTHER = (".pdf", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg", ".mp3", ".wav", ".m4a", ".mp4", ".mov",
          ".avi", ".webm", ".ogg", ".flac", ".ico", ".avif", ".heic", ".tif", ".tiff")  # fmt: skip


def combinations(
    files: ConfigFiles, variables: Mapping[str, object], at: At, *, expand: bool
) -> Iterator[dict[str, object]]:
    """The variables of each test that these make; a list of texts makes a test of each of its items.

    Args:
        expand: whether lists multiply the test.
    """
    values = {name: _values(files, value, at[name], expand) for name, value in variables.items()}
    count = 1
    for each in values.values():
        count *= len(each)
        if count > MAX_TESTS:
            raise at.fail(f"the lists make more than {MAX_TESTS:,} tests; shorten them")
    for combination in itertools.product(*values.values()):
        yield _filled(dict(zip(values, combination, strict=True)))


def _values(files: ConfigFiles, value: object, at: At, expand: bool) -> list[object]:
    if isinstance(value, str) and value.startswith(FILE) and expand:
        return [_of_file(files, path, at) for path in files.matching(value, at)]
    values_listed = value if expand and isinstance(value, list) and value and isinstance(value[0], str) else [value]
    return [_value(files, each, at) for each in values_listed]


def _value(files: ConfigFiles, value: object, at: At) -> object:
    if isinstance(value, str) and value.startswith(FILE):
        return _of_file(files, files.path_of(value, at), at)
    if isinstance(value, str) and value.startswith("package:"):
        files.left_out(at, stored("a program makes this value, and import runs no programs; write out the value"))
        return NotRead()
    return value.removesuffix("\n") if isinstance(value, str) else value


def _of_file(files: ConfigFiles, path: Path, at: At) -> object:
    ending = path.suffix.lower()
    if ending in _MADE:
        files.left_out(at, stored("a program makes this value, and import runs no programs; write out the value"))
        return NotRead()
    if ending in _OTHER:
        files.left_out(at, stored("only text can be sent"))
        return NotRead()
    files.came("files of variables", At(path))
    if ending in (".yaml", ".yml"):
        return json.dumps(files.data(path)[0], ensure_ascii=False, separators=(",", ":"))
    return files.text(path).strip()


def _filled(variables: dict[str, object]) -> dict[str, object]:
    """The variables, ``{{name}}`` in their texts replaced by the value of that name; an unknown name stays."""
    room = MAX_FILLED

    def value_of(match: re.Match[str]) -> str:
        nonlocal room
        text = _as_javascript(variables[match.group(1)]) if match.group(1) in variables else None
        room -= len(text or "")
        return match.group() if text is None or room < 0 else text

    for name, value in variables.items():
        for _ in range(_PASSES if isinstance(value, str) and "{{" in value else 0):
            before = str(variables[name])
            variables[name] = _NAME.sub(value_of, before)
            if variables[name] == before:
                break
    return variables


def with_filled_metric(entry: Mapping[str, object], variables: Mapping[str, object]) -> Mapping[str, object]:
    """An assertion whose metric's name is a template, filled in with the variables of its test; so are the assertions
    of a set."""
    metric, inner = entry.get("metric"), entry.get("assert")
    changed: dict[str, object] = {}
    if isinstance(metric, str) and "{{" in metric:
        named = {name: value for name, value in variables.items() if isinstance(value, str | int | float)}
        changed["metric"] = _NAME.sub(
            lambda match: _as_javascript(named[match.group(1)]) if match.group(1) in named else match.group(), metric
        )[:_LONGEST_METRIC]
    if isinstance(inner, list):
        changed["assert"] = [with_filled_metric(each, variables) if isinstance(each, dict) else each for each in inner]
    return {**entry, **changed} if changed else entry


def _as_javascript(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):
        return ",".join("" if item is None else _as_javascript(item) for item in value)
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e21
    return json.dumps(int(value) if is_whole and isinstance(value, float) else value)
