#!/usr/bin/env python3
"""Prints the page of the formats of other tools, made from their records:
``python scripts/interchange_page.py > docs/interchange.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptpex import interchange  # noqa: E402
from promptpex.interchange.format import Format, formats  # noqa: E402

TEXT = ROOT / "scripts" / "interchange_page.md"
PLACE = "FORMATS\n"


def page() -> str:
    """The whole page."""
    every = [each for _, each in sorted(formats(interchange).items())]
    return TEXT.read_text(encoding="utf-8").replace(PLACE, "\n".join(_table(every)) + "\n")


def _table(every: list[Format]) -> Iterator[str]:
    """A row for each format."""
    yield "| format | what it is | in | out | what does not come over |\n|---|---|---|---|---|"
    for each in every:
        marks = " | ".join("yes" if way is not None else "–" for way in (each.read, each.write))
        yield f"| `{each.name}` | {each.described()} | {marks} | {each.lost or '–'} |"


if __name__ == "__main__":
    sys.stdout.write(page())
