"""The variables of a promptfoo test: lists that multiply it, files, and names inside of texts."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from promptpex.core.translation import stored
from promptpex.interchange.promptfoo.files import FILE, ConfigFiles
from promptpex.interchange.reading.foreign_values import At

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

    Raises:
        InputError: they would make too many, or name a file that cannot be read.
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
    """What a variable may be, in turn."""
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
    """The value in a file: its text, of YAML as JSON."""
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
    """The value as JavaScript puts it into a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):
        return ",".join("" if item is None else _as_javascript(item) for item in value)
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e21
    return json.dumps(int(value) if is_whole and isinstance(value, float) else value)
