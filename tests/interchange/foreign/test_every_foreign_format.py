"""What holds of every foreign format: each is told by its file, and hostile files are one sentence or a result."""

from __future__ import annotations

import copy
import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from promptpex.core.errors import InputError
from promptpex.interchange.format import Imported
from promptpex.workflow.importing.write_import import usable, write_imported
from tests.interchange.foreign.imported import FORMATS, read, reads_as, written
from tests.interchange.foreign.sample_files import (
    COMPLETION,
    FILES,
    ITEM,
    OBSERVATION,
    SPANS,
)  # fmt: skip

MINE = {
    "openai-completions": ("c.jsonl", COMPLETION),
    "langfuse": ("o.json", OBSERVATION),
    "otel-genai": ("s.json", SPANS),
}  # fmt: skip
OTHERS = {
    "langfuse": ("i.json", ITEM),
}
WRONG: tuple[Any, ...] = (
    None, True, -3, 1e300, "", "file:///etc/passwd", "{{x}} {% y", "http://127.0.0.1:1/x", [], [1, None], [[]],
    {}, {"role": 3}, {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/x.png"}}, "[{\"role\": 1}]",
)  # fmt: skip


@pytest.mark.parametrize(("name", "file", "text"), [(name, *one) for name, files in FILES.items() for one in files])
def test_a_file_is_told_by_one_format_alone(name: str, file: str, text: str, tmp_path: Path) -> None:
    assert reads_as(written(tmp_path / file, text)) == [name]


def test_every_format_that_is_told_has_a_file_here() -> None:
    of_folders = {name for name, each in FORMATS.items() if not each.extensions}
    recognised = {name for name, each in FORMATS.items() if each.recognise is not None}
    assert set(FILES) <= recognised
    assert set(MINE) <= recognised - of_folders


@pytest.mark.parametrize(("name", "sample"), [*MINE.items(), *OTHERS.items()])
def test_whatever_stands_at_any_place_is_read_or_named(
    name: str, sample: tuple[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, row = sample
    assert read(name, written(tmp_path / file, json.dumps(row))).over
    came = 0
    for number, changed in enumerate(_changed(row)):
        path = written(tmp_path / file, json.dumps(changed))
        with monkeypatch.context() as patched:
            patched.setattr(socket.socket, "connect", _refuse)
            patched.setattr(subprocess, "Popen", _refuse)
            made = _read(name, path)
        if made is None:
            continue
        came += 1
        if number % 40 == 0:
            ending = ".yaml" if made.is_suite else ""
            write_imported(usable(made), tmp_path / f"out-{number}{ending}")
    assert came


def _refuse(*_: object, **__: object) -> NoReturn:
    raise AssertionError("something is run or fetched")


def _read(name: str, path: Path) -> Imported | None:
    """What is read; None where that is refused in one sentence about a file."""
    try:
        return read(name, path)
    except InputError as failure:
        if failure.path is None or "\n" in failure.message:
            raise
        return None


def _changed(row: Any) -> Iterator[Any]:
    """The row with each of its values replaced by each wrong one, in turns where that are many."""
    places = list(_places(row, ()))
    for number, place in enumerate(places):
        for which, wrong in enumerate(WRONG):
            if (number + which) % 3 == 0 or len(place) < 2:
                yield _replaced(row, place, wrong)


def _places(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _places(each, (*place, key))


def _replaced(row: Any, place: tuple[Any, ...], wrong: Any) -> Any:
    if not place:
        return wrong
    changed = copy.deepcopy(row)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = wrong
    return changed


HOSTILE = {
    "binary": b"\x00\x01\x02",
    "not UTF-8": b'{"input": "\xff"}',
    "cut off": b'[{"input": "x", "ideal": "y"}, {"inp',
    "deep": b'{"input": ' + b"[" * 100_000,
    "deep and whole": b'{"input": ' + b"[" * 300 + b"]" * 300 + b', "ideal": "x"}',
    "no number": b'{"input": NaN, "ideal": "x"}',
    "infinite": b'{"input": "x", "ideal": -Infinity}',
    "half a character": b'{"input": "\\ud800", "ideal": "x"}',
    "digits": b'{"input": ' + b"9" * 5000 + b', "ideal": "x"}',
    "empty": b"",
    "no rows": b"[]",
    "a text": b'"x"',
    "rows and more": b'[{"input": "x"}] 3',
    "no comma": b'[{"input": "x"} {"input": "y"}]',
}


@pytest.mark.parametrize("name", list(MINE))
@pytest.mark.parametrize("what", list(HOSTILE))
def test_hostile_files_are_one_sentence(name: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / MINE[name][0]
    path.write_bytes(HOSTILE[what])
    with pytest.raises(InputError) as caught:
        read(name, path)
    assert caught.value.path is not None
    assert "\n" not in caught.value.message
    for each in FORMATS.values():
        if each.recognise is not None:
            each.recognise(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    for name, (file, _) in MINE.items():
        path = tmp_path / file
        with path.open("wb") as opened:
            opened.write(b"[")
            opened.truncate(400_000_000)
        with pytest.raises(InputError, match="the limit is"):
            read(name, path)


def test_lines_of_rows_are_told_wherever_they_stand(tmp_path: Path) -> None:
    wrong = {"object": "chat.completion", "messages": 3, "choices": []}
    text = "[\n" + json.dumps(COMPLETION, indent=1) + ",\n\n" + json.dumps(wrong) + "\n]\n"
    made = read("openai-completions", written(tmp_path / "g.json", text))
    lines = [note.line for note in made.notes if note.became == "left out"]
    assert lines == [text.split("\n").index(json.dumps(wrong)) + 1]
