"""``jsonl``: a suite as JSON lines, both ways without loss; other rows come in with ``--columns``.

A line names the prompt (and, where the suite says one, the comparison with expected outputs as ``suite_match``); then
comes a case per line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from promptpex.codecs import jsonl
from promptpex.codecs.files.text_file import read_text
from promptpex.codecs.safe_csv import MAX_BYTES
from promptpex.core.errors import SuiteError
from promptpex.core.records import Suite
from promptpex.documents.editable_file import Reading
from promptpex.documents.kinds import CASES
from promptpex.interchange.column_mapping import COLUMNS, FIRST, Table, first_of, imported
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Source
from promptpex.interchange.reading.foreign_rows import first_row
from promptpex.interchange.suite_rows import gather


def text(suite: Suite, before: str = "") -> str:
    """The suite as JSON lines; lines of ``before`` that still say the same are kept as they are."""
    old = {jsonl.dumps(line.value): line.text for line in jsonl.parse(before, error=SuiteError)}
    values: list[Any] = [{"prompt": suite.prompt, **({"suite_match": suite.match} if suite.match else {})}]
    values += [{**case.to_dict(), "inverse": case.inverse, "origin": case.origin} for case in suite.cases]
    return "".join(f"{old.get(line, line)}\n" for line in map(jsonl.dumps, values))


def parse(text: str, path: Path | str) -> Reading[Suite]:
    """The suite of a JSON lines text, the line of each case, and what is wrong with the rest.

    Raises:
        SuiteError: a line that is not a JSON object.
    """
    return gather(objects(text, path), path)


def objects(text: str, path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object of each line, with its number.

    Raises:
        SuiteError: a line that is not a JSON object.
    """
    for line in jsonl.parse(text, path=path, error=SuiteError):
        if not isinstance(line.value, dict):
            raise SuiteError("each line must hold one case, a JSON object", path=path, line=line.number)
        yield line.number, line.value


def read(path: Path, *, columns: str | None = None, first: int | None = None) -> Imported:
    """The suite of a file of JSON lines.

    Args:
        columns: which keys are what, where they are not called as ours are; dots lead into mappings.
        first: how many lines are read; by default all.

    Raises:
        SuiteError: the first mistake, with file and line.
    """
    text = read_text(path, error=SuiteError, what=CASES.what, limit=MAX_BYTES)
    rows = list(objects(text, path))
    if columns is None and is_ours([row for _, row in rows]):
        return first_of(parse(text, path).require(), first)
    return imported(table_of(rows, path), columns=columns, first=first)


def is_ours(rows: list[dict[str, Any]]) -> bool:
    """Whether lines are those of a suite: a case with inputs, or the prompt of cases."""
    return not rows or any(isinstance(row.get("inputs"), dict) for row in rows[:2]) or set(rows[0]) == {"prompt"}


def table_of(rows: list[tuple[int, dict[str, Any]]], path: Path) -> Table:
    """The lines as a table."""
    names = dict.fromkeys(name for _, row in rows[:100] for name in row)
    return Table(path, tuple(names), rows, nested=True)


def write(source: Source) -> Exported:
    """The suite as JSON lines."""
    return Exported(text(source.suite()))


def recognise(path: Path) -> bool:
    """Whether the first line says the prompt of cases, or is a case with its id and its inputs."""
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    row = first_row(path)
    is_head = bool(row) and set(row) <= {"prompt", "suite_match"} and all(isinstance(one, str) for one in row.values())
    return is_head or (isinstance(row.get("inputs"), dict) and isinstance(row.get("id"), str))


FORMAT = Format(
    name="jsonl",
    summary="the cases, one JSON object per line",
    import_note="or the keys that --columns names",
    extensions=(".jsonl", ".ndjson"),
    reads="suite",
    writes="suite",
    read=read,
    write=write,
    read_options=(COLUMNS, FIRST),
    recognise=recognise,
    otherwise=True,
    maps=(
        Mapped("a line", "a case, with all its fields"),
        Mapped("the first line", "the prompt's name"),
        Mapped("a key that `--columns` names; with dots, one in mappings", "the field or input that it says", "in"),
        Mapped("keys that it does not name", "nothing", "in", "they are named"),
    ),
)
