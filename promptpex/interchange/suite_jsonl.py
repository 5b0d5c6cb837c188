"""``jsonl``: a suite as JSON lines, both ways without loss.

A line names the prompt (and, where the suite says one, the comparison with expected outputs as ``suite_match``); then
comes a case per line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptpex.codecs import jsonl
from promptpex.core.errors import SuiteError
from promptpex.core.records import Suite
from promptpex.documents.document import Reading
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Source, head
from promptpex.interchange.suite_rows import gather, suite_of


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
    rows: list[tuple[int, dict[str, Any]]] = []
    for line in jsonl.parse(text, path=path, error=SuiteError):
        if not isinstance(line.value, dict):
            raise SuiteError("each line must hold one case, a JSON object", path=path, line=line.number)
        rows.append((line.number, line.value))
    return gather(rows, path)


def read(path: Path) -> Imported:
    """The suite of a file of JSON lines.

    Raises:
        SuiteError: the first mistake, with file and line.
    """
    return Imported(suite=suite_of(path, parse))


def write(source: Source) -> Exported:
    """The suite as JSON lines."""
    return Exported(text(source.suite()))


def recognise(path: Path) -> bool:
    """Whether a line among the first says a case, or the prompt of cases."""
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    lines = [line for line in head(path).splitlines()[:2] if line.strip()]
    return any('"inputs"' in line and '"id"' in line for line in lines)


FORMAT = Format(
    name="jsonl",
    summary="the cases, one JSON object per line",
    extensions=(".jsonl", ".ndjson"),
    reads="suite",
    writes="suite",
    read=read,
    write=write,
    recognise=recognise,
    maps=(Mapped("a line", "a case, with all its fields"), Mapped("the first line", "the prompt's name")),
)
